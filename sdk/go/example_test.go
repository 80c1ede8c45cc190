package agegate_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	agegate "github.com/agegate/agegate/sdk/go"
)

func ExampleClient_CreateSession() {
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnprocessableEntity)
		fmt.Fprint(w, `{"detail":[{"type":"value_error","loc":["body","success_url"],"msg":"validation failed"}]}`)
	}))
	defer gateway.Close()

	client, err := agegate.New(gateway.URL, "svc_test_…")
	if err != nil {
		panic(err)
	}
	request := agegate.CreateSessionRequest{TargetAge: 18, SuccessURL: "https://elsewhere.example/"}
	params := agegate.CreateSessionParams{IdempotencyKey: agegate.NewIdempotencyKey()}
	_, err = client.CreateSession(context.Background(), request, params)
	var refused *agegate.Error
	if errors.As(err, &refused) {
		fmt.Println(refused.Status, refused.Detail)
	}
	// Output: 422 value_error at body.success_url
}

func ExampleVerifyRedirect() {
	// The contract's known answer, which expired on 1 January 2026.
	query := "token=1767225600.slfl0m62Hp6cILJ_niu6Z16vtBKHc9YORSXIuOaA8vg" +
		"&session=3f2b8c1e-9d4a-4f6b-8a57-0c1d2e3f4a5b&status=VERIFIED&is_adult=true"
	secret := "rdsec_test_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	fmt.Println(agegate.VerifyRedirect(query, "3f2b8c1e-9d4a-4f6b-8a57-0c1d2e3f4a5b", secret))
	// Output: the redirect proves no pass of this session
}
