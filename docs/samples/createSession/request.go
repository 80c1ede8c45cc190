package main

import (
	"crypto/rand"
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
	request, err := http.NewRequest(http.MethodPost, os.Getenv("AGEGATE_URL")+"/api/v1/sessions/create",
		strings.NewReader(`{"target_age": 18}`))
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("X-API-Key", os.Getenv("AGEGATE_API_KEY"))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", rand.Text()) // keep it with the order, for a repetition
	response, err := client.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusCreated {
		refusal, _ := io.ReadAll(response.Body)
		log.Fatal(response.Status, " ", string(refusal)) // with the gateway's detail
	}
	var session struct {
		ID  string `json:"session_id"`
		URL string `json:"verification_url"`
	}
	if err := json.NewDecoder(response.Body).Decode(&session); err != nil {
		log.Fatal(err)
	}
	fmt.Println(session.ID, session.URL)
}
