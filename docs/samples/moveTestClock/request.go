package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"time"
)

func main() {
	client := &http.Client{Timeout: 10 * time.Second}
	address := os.Getenv("AGEGATE_URL") + "/api/v1/test/sessions/" + os.Getenv("SESSION_ID") + "/clock"
	request, err := http.NewRequest(http.MethodPost, address, strings.NewReader(`{"expire": "session"}`))
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("X-API-Key", os.Getenv("AGEGATE_API_KEY"))
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		refusal, _ := io.ReadAll(response.Body)
		log.Fatal(response.Status, " ", string(refusal)) // with the gateway's detail
	}
	var answer struct {
		Expired string `json:"expired"`
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Expired)
}
