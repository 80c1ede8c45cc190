package httpd_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/uuid"

	"agegate/gen/client"
	"agegate/internal/rules/fault"
)

// The generated client reads both success and error responses of the edge.
func TestGeneratedClient(t *testing.T) {
	s := &stub{}
	e, _ := newEdge(t, s, nil)
	server := httptest.NewServer(e)
	defer server.Close()
	withKey := client.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("X-API-Key", goodKey)
		return nil
	})
	c, err := client.NewClientWithResponses(server.URL, withKey)
	if err != nil {
		t.Fatal(err)
	}
	ctx, id := context.Background(), uuid.MustParse(sessionID)
	key, success := "k-1", "https://a.example/x"
	params := &client.CreateSessionParams{IdempotencyKey: &key}

	created, err := c.CreateSessionWithResponse(ctx, params,
		client.CreateSessionRequest{TargetAge: 18, SuccessURL: &success})
	if err != nil || created.JSON201 == nil || created.JSON201.SessionID != id {
		t.Fatalf("create: %v, %+v", err, created)
	}
	if got := s.received; got.Body.TargetAge != 18 || *got.Body.SuccessURL != success || got.Body.CancelURL != nil ||
		*got.Params.IdempotencyKey != key {
		t.Errorf("the handler received %+v", got)
	}
	invalid, err := c.CreateSessionWithResponse(ctx, params, client.CreateSessionRequest{TargetAge: 12})
	if err != nil || invalid.JSON422 == nil || invalid.JSON422.Detail[0].Type != "greater_than_equal" {
		t.Errorf("invalid create: %v, %+v", err, invalid)
	}
	status, err := c.GetSessionStatusWithResponse(ctx, id)
	if err != nil || status.JSON200 == nil || status.JSON200.Status != client.SessionStatusPending ||
		!status.JSON200.StatusAt.Equal(time.Unix(0, 0)) {
		t.Errorf("status: %v, %+v", err, status)
	}
	age, err := c.GetDetectedAgeWithResponse(ctx, id)
	if err != nil || age.JSON200 == nil || age.JSON200.DetectedAge != nil ||
		age.JSON200.Availability != client.AgeAvailabilityPending {
		t.Errorf("age: %v, %+v", err, age)
	}
	s.err = fault.New(fault.InsufficientFunds, "Top up to resume verifications.")
	broke, err := c.CreateSessionWithResponse(ctx, params, client.CreateSessionRequest{TargetAge: 18})
	if err != nil || broke.JSON402 == nil || broke.JSON402.Detail.Code != client.ErrorCodeInsufficientCredit {
		t.Errorf("create without credit: %v, %+v", err, broke)
	}
}
