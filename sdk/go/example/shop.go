// shop.go

// Package example is a shop that sells one thing to adults.
package example

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"
	"sync"

	agegate "github.com/agegate/agegate/sdk/go"
)

// Shop keeps its orders in memory; a real shop has a database.
type Shop struct {
	Gateway *agegate.Client
	Ship    func(session string) // called once for the session of each order that may be shipped
	URL     string               // its own, for Success URLs that name each order

	webhookSecret, redirectSecret string
	live                          bool // mode of the API key
	mu                            sync.Mutex
	orders                        map[string]string // session by order
	released                      map[string]bool   // by session
}

// New refuses what is not a key or a secret, under which anybody could sign.
func New(gatewayURL, apiKey, webhookSecret, redirectSecret string) (*Shop, error) {
	gateway, err := agegate.New(gatewayURL, apiKey)
	if err != nil {
		return nil, err
	}
	if _, err := agegate.VerifyWebhook(nil, nil, webhookSecret); errors.Is(err, agegate.ErrWebhookSecret) {
		return nil, err
	}
	if err := agegate.VerifyRedirect("", "", redirectSecret); errors.Is(err, agegate.ErrRedirectSecret) {
		return nil, err
	}
	return &Shop{Gateway: gateway, Ship: func(session string) { log.Print("released ", session) },
		webhookSecret: webhookSecret, redirectSecret: redirectSecret, live: strings.HasPrefix(apiKey, "svc_live_"),
		orders: map[string]string{}, released: map[string]bool{}}, nil
}

// Handler returns the shop's pages: GET /, POST /buy, your Success, your Cancel and your Webhook URL.
func (s *Shop) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `<!doctype html><form method="post" action="/buy"><button>Buy</button></form>`)
	})
	mux.HandleFunc("GET /cancelled", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `<!doctype html><p>Your order is not paid. Age not confirmed? Write to us for another way.
<a href="/">To the shop</a></p>`)
	})
	mux.HandleFunc("POST /buy", func(w http.ResponseWriter, r *http.Request) {
		order, session, err := s.Order(r.Context(), agegate.CreateSessionRequest{TargetAge: 18})
		if err != nil {
			log.Print(err) // says the gateway's detail and the request's ID
			http.Error(w, "Please try again.", http.StatusBadGateway)
			return
		}
		http.SetCookie(w, &http.Cookie{
			Name: "order", Value: order, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
		http.Redirect(w, r, session.VerificationURL, http.StatusSeeOther)
	})
	mux.HandleFunc("GET /thanks", func(w http.ResponseWriter, r *http.Request) {
		order := r.URL.Query().Get("order")
		cookie, err := r.Cookie("order")
		own := err == nil && cookie.Value == order
		if err := s.Returned(order, r.URL.RawQuery); err != nil && (!own || !s.shipped(order)) {
			http.Error(w, "Not verified.", http.StatusForbidden)
			return
		}
		fmt.Fprintln(w, "Released.")
	})
	mux.HandleFunc("POST /webhook", func(w http.ResponseWriter, r *http.Request) {
		if _, err := s.Notified(w, r); err != nil {
			log.Print(err)
			http.Error(w, "Not verified.", http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	return mux
}

// Order creates the session of a new order, which its Success URL names unless the request has another one.
func (s *Shop) Order(
	ctx context.Context, request agegate.CreateSessionRequest,
) (string, *agegate.CreateSessionOut, error) {
	order := agegate.NewIdempotencyKey() // one for each order
	if request.SuccessURL == "" && s.URL != "" {
		request.SuccessURL = s.URL + "/thanks?order=" + order
	}
	session, err := s.Gateway.CreateSession(ctx, request, agegate.CreateSessionParams{IdempotencyKey: order})
	if err != nil {
		return "", nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.orders[order] = session.SessionID
	return order, session, nil
}

// Returned releases an order if the redirect proves the pass of the session that is stored with it.
func (s *Shop) Returned(order, rawQuery string) error {
	s.mu.Lock()
	session := s.orders[order]
	s.mu.Unlock()
	if session == "" {
		return agegate.ErrRedirect
	}
	if err := agegate.VerifyRedirect(rawQuery, session, s.redirectSecret); err != nil {
		return err
	}
	s.Release(session)
	return nil
}

// shipped reports whether the webhook, or an earlier visit, has released an order.
func (s *Shop) shipped(order string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.released[s.orders[order]]
}

// Notified releases an order if the webhook says that its check was passed.
func (s *Shop) Notified(w http.ResponseWriter, r *http.Request) (*agegate.CompletionEvent, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
	if err != nil {
		return nil, err
	}
	event, err := agegate.VerifyWebhook(r.Header, body, s.webhookSecret)
	if err == nil && event.Status == agegate.ResultStatusVerified && event.IsAdult && event.Livemode == s.live {
		s.Release(event.SessionID)
	}
	return event, err
}

// Release ships an order once, whichever proof of its pass comes first.
func (s *Shop) Release(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, its := range s.orders {
		if its == session && !s.released[session] {
			s.released[session] = true
			s.Ship(session)
		}
	}
}
