package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"time"
)

func main() {
	client := &http.Client{Timeout: 10 * time.Second}
	address := os.Getenv("AGEGATE_URL") + "/api/v1/sessions/" + os.Getenv("SESSION_ID") + "/status"
	request, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("X-API-Key", os.Getenv("AGEGATE_API_KEY"))
	response, err := client.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		refusal, _ := io.ReadAll(response.Body)
		log.Fatal(response.Status, " ", string(refusal)) // with the gateway's detail
	}
	var current struct {
		Status string `json:"status"`
	}
	if err := json.NewDecoder(response.Body).Decode(&current); err != nil {
		log.Fatal(err)
	}
	fmt.Println(current.Status)
}
