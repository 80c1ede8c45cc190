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
	address := os.Getenv("AGEGATE_URL") + "/api/v1/test/events/" + os.Getenv("EVENT_ID") + "/resend"
	request, err := http.NewRequest(http.MethodPost, address, nil)
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
	var answer struct {
		EventID string `json:"event_id"`
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.EventID)
}
