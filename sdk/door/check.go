package door

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	agegate "github.com/agegate/agegate/sdk/go"
)

// Check asks the gateway whether the configuration works, and returns what is
// wrong. It leaves no session open that costs anything.
func (d *Door) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := d.checkClock(ctx); err != nil {
		return err
	}
	if d.shared != nil && d.shared.Ping(ctx).Err() != nil {
		return errors.New("DOOR_REDIS does not answer")
	}
	for _, a := range []account{d.any, d.papers} {
		if a.Client == nil {
			continue
		}
		if err := d.checkURLs(ctx, a); err != nil {
			return err
		}
		if d.cfg.Live() {
			continue // a live pass cannot be forced
		}
		if err := d.checkSecret(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// maxSkew is how far the clocks may differ: a token is valid for ten minutes.
const maxSkew = time.Minute

func (d *Door) checkClock(ctx context.Context) error {
	header, err := fetch(ctx, d.cfg.GatewayURL+"/api/v1/")
	if err != nil {
		return errors.New("AGEGATE_URL: the gateway cannot be reached")
	}
	at, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		return errors.New("AGEGATE_URL: there is no gateway, because its answer has no date")
	}
	if skew := d.now().Sub(at).Abs(); skew > maxSkew {
		return fmt.Errorf("the clocks of this machine and of the gateway differ by %s", skew.Round(time.Second))
	}
	return nil
}

// checkURLs sends a request that the gateway must refuse, but for the cancel URL
// alone.
func (d *Door) checkURLs(ctx context.Context, a account) error {
	_, err := a.CreateSession(ctx, agegate.CreateSessionRequest{TargetAge: d.cfg.Age,
		SuccessURL: d.address("return", "/"), CancelURL: "https://not-registered.invalid/"},
		agegate.CreateSessionParams{})
	var refused *agegate.Error
	switch {
	case !errors.As(err, &refused):
		return errors.New("AGEGATE_URL: the gateway does not answer as the contract says")
	case refused.Status == http.StatusUnauthorized || refused.Status == http.StatusForbidden:
		return fmt.Errorf("%sAPI_KEY is refused, or AGEGATE_URL is not the gateway's: %w", a.prefix, refused)
	case refused.Status != http.StatusUnprocessableEntity:
		return fmt.Errorf("the gateway answers: %w", refused)
	}
	for _, v := range refused.Violations {
		if fmt.Sprint(v.Loc) == "[body success_url]" {
			return fmt.Errorf("DOOR_URL: register %s as a URL of %sAPI_KEY's tenant in the gateway's dashboard",
				d.cfg.URL.String()+"/", a.prefix)
		}
	}
	return nil
}

// checkSecret forces a pass of a test session and verifies its token.
func (d *Door) checkSecret(ctx context.Context, a account) error {
	created, err := a.CreateSession(ctx, agegate.CreateSessionRequest{TargetAge: d.cfg.Age,
		SuccessURL: d.address("return", "/"), CancelURL: d.address("cancel", "/")}, agegate.CreateSessionParams{})
	if err != nil {
		return fmt.Errorf("no session can be created: %w", err)
	}
	header, err := fetch(ctx, created.VerificationURL+"?force=verified")
	if err != nil {
		return fmt.Errorf("the hosted page cannot be reached from here, so %sREDIRECT_SECRET was not checked", a.prefix)
	}
	back, err := url.Parse(header.Get("Location"))
	if err != nil || back.RawQuery == "" {
		return fmt.Errorf("the hosted page does not lead back, so %sREDIRECT_SECRET was not checked", a.prefix)
	}
	if agegate.VerifyRedirect(back.RawQuery, created.SessionID, a.secrets...) != nil {
		return fmt.Errorf("%sREDIRECT_SECRET is not the one of this tenant and mode", a.prefix)
	}
	return nil
}

// fetch gets an address without following a redirect, and returns the headers.
func fetch(ctx context.Context, address string) (http.Header, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	return res.Header, res.Body.Close()
}
