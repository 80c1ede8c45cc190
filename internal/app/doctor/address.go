package doctor

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/http"
	"slices"
	"time"

	"agegate/internal/app/config"
	"agegate/internal/pages/page"
	"agegate/internal/rules/routine"
	"agegate/internal/rules/webhook"

	"github.com/coder/websocket"
)

// addresses examines the public addresses as a browser on this machine reaches them, all at the same time.
func (e *examiner) addresses(ctx context.Context) {
	tell, findings := e.Tell, make([][]Finding, 3)
	var all routine.Group
	for i, examine := range []func(*examiner, context.Context){(*examiner).baseURL, (*examiner).verifyURL,
		(*examiner).dashboardURL} {
		own := examiner{Options: e.Options}
		own.Tell = func(f Finding) { findings[i] = append(findings[i], f) }
		all.Start(func() error { examine(&own, ctx); return nil })
	}
	if err := all.Wait(); err != nil {
		e.problem("addresses", err.Error(), "report this: it is a fault of agegate")
	}
	e.answers = slices.ContainsFunc(findings[0], func(f Finding) bool { return f.Check == baseURLName && f.Grade == OK })
	var told []Finding
	for _, f := range slices.Concat(findings...) {
		if i := slices.IndexFunc(told, f.like); i >= 0 {
			told[i].Check += ", " + f.Check // several addresses are often of one gateway
			continue
		}
		told = append(told, f)
	}
	for _, f := range told {
		tell(f)
	}
}

const secureAdvice = "terminate TLS in a reverse proxy, or let the gateway do it (AGEGATE_TLS); then set the https " +
	"address"

// secureFindings reports the public addresses that do not use https, so that others can read what is sent to them.
func secureFindings(cfg config.Config) (findings []Finding) {
	if !config.Private(cfg.BaseURL) {
		findings = append(findings, Finding{"https", baseURLName, Warning, "it is not https: API keys can be read on the way",
			secureAdvice, nil})
	}
	if !config.Private(cfg.VerifyURL) {
		findings = append(findings, Finding{"https", verifyURLName, Problem,
			"it is not https: browsers give no camera to the page", secureAdvice, nil})
	}
	return findings
}

const (
	baseURLName   = "AGEGATE_BASE_URL"
	verifyURLName = "AGEGATE_VERIFY_URL"
)

func (e *examiner) baseURL(ctx context.Context) {
	e.serves(ctx, baseURLName, e.Config.BaseURL, "/openapi.json", "the API")
}

func (e *examiner) dashboardURL(ctx context.Context) {
	const check = "AGEGATE_DASHBOARD_URL"
	if !e.Config.Dashboard {
		e.ok(check, "the dashboard is off")
		return
	}
	if err := e.Config.CheckDashboard(); err != nil {
		e.warn(check, "it is not https, so no dashboard is served", err.Error())
		return
	}
	e.serves(ctx, check, e.Config.DashboardURL, "/dashboard/login", "the dashboard")
}

// serves checks whether a part of the gateway answers at an address.
func (e *examiner) serves(ctx context.Context, check, address, path, part string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, address+path, http.NoBody)
	if err != nil {
		e.problem(check, "it is no address", "correct it")
		return
	}
	res, err := client().Do(req)
	if err != nil {
		e.unreachable(check, err)
		return
	}
	_ = res.Body.Close() // the response to HEAD has no body
	e.certificate(check, res)
	if res.StatusCode != http.StatusOK {
		e.problem(check, fmt.Sprintf("it answers %d where %s should be", res.StatusCode, part),
			"look where the reverse proxy leads this host and "+path+", and whether a gateway with the role for it runs there")
		return
	}
	e.ok(check, part+" answers")
}

// verifyURL examines the address of the hosted page, which needs WebSockets.
func (e *examiner) verifyURL(ctx context.Context) {
	const check = verifyURLName
	//nolint:bodyclose // the library closes it
	conn, res, err := websocket.Dial(ctx, e.Config.VerifyURL+page.HandshakePath,
		&websocket.DialOptions{HTTPClient: client()})
	if conn != nil {
		defer conn.CloseNow() //nolint:errcheck // the gateway has ended it
	}
	if res == nil {
		e.unreachable(check, err)
		return
	}
	e.certificate(check, res)
	const advice = "have the reverse proxy pass the Upgrade and Connection headers under /v/ over HTTP/1.1; in nginx: " +
		"proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade"
	switch {
	case err == nil:
		e.ok(check, "the hosted page answers, and WebSockets pass")
	case res.StatusCode == http.StatusUpgradeRequired:
		e.problem(check, "the hosted page answers, but the way to it strips the WebSocket's Upgrade header: camera checks "+
			"cannot begin", advice)
	case res.StatusCode == http.StatusBadGateway, res.StatusCode == http.StatusServiceUnavailable,
		res.StatusCode == http.StatusGatewayTimeout:
		e.problem(check, fmt.Sprintf("something in front of the gateway answers %d: it does not reach the gateway",
			res.StatusCode), "start the gateway, and look at the address that the reverse proxy leads to")
	default:
		e.problem(check, fmt.Sprintf("it answers a WebSocket with %d: not this version's hosted page, or something on the "+
			"way refuses WebSockets", res.StatusCode),
			"look where the reverse proxy leads this host and /v/, and whether a gateway with the role pages or all runs "+
				"there; "+advice)
	}
}

// unreachable reports why an address could not be reached.
func (e *examiner) unreachable(check string, err error) {
	advice := "start the gateway; look at the name in DNS, the firewall, and the reverse proxy's listener and certificate"
	if webhook.Classify(err) == webhook.ClassTLS {
		advice = "renew or replace the certificate: the reverse proxy's, or the one in AGEGATE_TLS_CERT"
	}
	e.problem(check, "the gateway cannot be reached: "+webhook.Reason(err), advice)
}

// certificate warns about a certificate that expires soon.
func (e *examiner) certificate(check string, res *http.Response) {
	if res.TLS == nil || len(res.TLS.PeerCertificates) == 0 {
		return
	}
	if last, soon := e.endsSoon(res.TLS.PeerCertificates[0]); soon {
		e.warn(check, "its certificate ends on "+last, "look why it has not been renewed")
	}
}

// endsSoon reports whether a certificate, if there is one, should be renewed, and its last day.
func (e *examiner) endsSoon(c *x509.Certificate) (last string, soon bool) {
	if c == nil {
		return "", false
	}
	return c.NotAfter.Format(time.DateOnly), c.NotAfter.Sub(e.Now()) < expirySoon
}

// client follows no redirects and keeps no connections.
func client() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true, Proxy: http.ProxyFromEnvironment},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
