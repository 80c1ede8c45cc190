// shop.go

// Command example is a shop that sells one thing to adults.
package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	agegate "github.com/agegate/agegate/sdk/go"
)

type shop struct {
	gateway  *agegate.Client
	mu       sync.Mutex
	orders   map[string]string // session by order; a real shop has a database
	released map[string]bool   // by session
}

func main() {
	gateway, err := agegate.New(os.Getenv("AGEGATE_URL"), os.Getenv("AGEGATE_API_KEY"))
	if err != nil {
		log.Fatal(err)
	}
	s := &shop{gateway: gateway, orders: map[string]string{}, released: map[string]bool{}}
	http.HandleFunc("POST /buy", s.buy)
	http.HandleFunc("GET /thanks", s.thanks)
	http.HandleFunc("POST /webhook", s.webhook)
	server := &http.Server{Addr: "localhost:" + os.Getenv("PORT"), ReadHeaderTimeout: 10 * time.Second}
	log.Fatal(server.ListenAndServe())
}

func (s *shop) buy(w http.ResponseWriter, r *http.Request) {
	order := agegate.NewIdempotencyKey() // one for each order
	session, err := s.gateway.CreateSession(r.Context(), agegate.CreateSessionRequest{TargetAge: 18},
		agegate.CreateSessionParams{IdempotencyKey: order})
	if err != nil {
		log.Print(err) // says the gateway's detail
		http.Error(w, "Please try again.", http.StatusBadGateway)
		return
	}
	s.mu.Lock()
	s.orders[order] = session.SessionID
	s.mu.Unlock()
	http.SetCookie(w, &http.Cookie{Name: "order", Value: order, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
	http.Redirect(w, r, session.VerificationURL, http.StatusSeeOther)
}

func (s *shop) thanks(w http.ResponseWriter, r *http.Request) {
	order := ""
	if cookie, err := r.Cookie("order"); err == nil {
		order = cookie.Value // the order of this browser, never one from the address
	}
	s.mu.Lock()
	session := s.orders[order]
	s.mu.Unlock()
	if session == "" || agegate.VerifyRedirect(r.URL.RawQuery, session, os.Getenv("AGEGATE_REDIRECT_SECRET")) != nil {
		http.Error(w, "Not verified.", http.StatusForbidden)
		return
	}
	s.release(session)
	fmt.Fprintln(w, "Released.")
}

func (s *shop) webhook(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
	if err != nil {
		return
	}
	event, err := agegate.VerifyWebhook(r.Header, body, os.Getenv("AGEGATE_WEBHOOK_SECRET"))
	if err != nil {
		log.Print(err)
		http.Error(w, "Not verified.", http.StatusBadRequest)
		return
	}
	live := strings.HasPrefix(os.Getenv("AGEGATE_API_KEY"), "svc_live_")
	if event.Status == agegate.ResultStatusVerified && event.IsAdult && event.Livemode == live {
		s.release(event.SessionID)
	}
	w.WriteHeader(http.StatusNoContent)
}

// release ships an order once, whichever proof of its pass comes first.
func (s *shop) release(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for order, its := range s.orders {
		if its == session && !s.released[session] {
			s.released[session] = true
			log.Print("released ", order)
		}
	}
}
