package certificate

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// challengePath is where a directory looks for the answer to a challenge (RFC 8555, section 8.3).
const challengePath = "/.well-known/acme-challenge/"

// Plain returns the handler of the plain HTTP listener: it answers challenges and leads browsers to the same page at
// one of the origins, whose hosts must differ. answer is nil where no certificate is ordered.
func Plain(origins []*url.URL, answer func(ctx context.Context, token string) (string, error)) http.Handler {
	known := map[string]*url.URL{}
	for _, o := range origins {
		known[strings.ToLower(o.Hostname())] = o
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		origin := known[strings.ToLower(hostname(req.Host))]
		token, asked := strings.CutPrefix(req.URL.Path, challengePath)
		switch {
		case origin == nil:
			http.Error(w, "This host is not served here", http.StatusMisdirectedRequest)
		case asked && answer != nil:
			writeAnswer(w, req, token, answer)
		case strings.HasPrefix(req.URL.Path, "/api/") || req.Method != http.MethodGet && req.Method != http.MethodHead:
			http.Error(w, "Use https", http.StatusForbidden) // a redirect would hide that keys are sent in the clear
		default:
			// Only the path and the query are the client's.
			to := url.URL{
				Scheme: "https", Host: origin.Host, Path: req.URL.Path, RawPath: req.URL.RawPath,
				RawQuery: req.URL.RawQuery,
			}
			w.Header().Set("Location", to.String())
			w.WriteHeader(http.StatusMovedPermanently)
		}
	})
}

// hostname returns the host of a Host header, without a port.
func hostname(header string) string {
	if host, _, err := net.SplitHostPort(header); err == nil {
		return host
	}
	return header
}

func writeAnswer(w http.ResponseWriter, req *http.Request, token string,
	answer func(context.Context, string) (string, error),
) {
	text, err := answer(req.Context(), token)
	switch {
	case err != nil:
		http.Error(w, "Service Unavailable", http.StatusServiceUnavailable)
	case text == "":
		http.Error(w, "Not Found", http.StatusNotFound)
	default:
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write([]byte(text)) // it fails only if the client has gone
	}
}
