// Package page holds what all sets of pages share: templates in every language, the catalogues, static files,
// cookies, security headers and protection from cross-site requests. A set has its own layout, screens, texts and
// template functions.
package page

import (
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"

	"agegate/templates"

	lru "github.com/hashicorp/golang-lru/v2"
)

// HandshakePath is where the hosted page accepts a WebSocket and ends it at once.
// It is next to the paths of the camera checks, so that proxies treat both alike.
const HandshakePath = "/v/handshake"

// Config describes a set of pages.
type Config struct {
	// Files holds layout.html, which every page begins with; one template per screen, named <screen>.html;
	// blocks/*.html, which every screen may use; the catalogues locales/<BCP 47 tag>.json, or locales/<tag>/*.json;
	// and the static files below static/.
	Files fs.FS
	// Screens are the screens that the handlers render.
	Screens []string
	// Keys are the texts whose keys templates compose at run time. Literal keys are
	// found in the templates. The values of composed texts are not checked.
	Keys []string
	// Funcs are the set's template functions, in addition to those of every set: t, texts, say, list and figure.
	Funcs template.FuncMap
	// StaticPath is where the static files are mounted, without a trailing slash.
	StaticPath string
	// PublicURL is the public base of the pages. Its scheme decides whether cookies are Secure.
	PublicURL string
	// LanguageCookie names the cookie with the chosen language. Sets on one host need
	// different names: a shopper's choice does not apply to the dashboard.
	LanguageCookie string
	// Permissions is the pages' Permissions-Policy.
	Permissions string
	// ContentPolicy is the pages' Content-Security-Policy; see HostedPolicy.
	ContentPolicy string
}

// Set is a set of pages, ready to be rendered.
type Set struct {
	catalogue   *catalogue
	screens     map[string]screens // by language
	assets      *Assets
	csrf        *http.CrossOriginProtection
	policy      string // Content-Security-Policy
	permissions string
	language    string // name of its cookie
	secure      bool   // cookies have Secure and the __Host- prefix
	kept        *lru.Cache[keptKey, template.HTML]
}

// New checks every template in every language. It fails if a screen is missing, if a catalogue is incomplete, or if a
// template uses a text that no catalogue has or omits one of the text's values.
func New(cfg Config) (*Set, error) {
	public, err := url.Parse(cfg.PublicURL)
	if err != nil {
		return nil, fmt.Errorf("page: public URL: %w", err)
	}
	s := &Set{
		csrf: http.NewCrossOriginProtection(), policy: cfg.ContentPolicy,
		permissions: cfg.Permissions, language: cfg.LanguageCookie, secure: public.Scheme == "https",
	}
	if s.kept, err = lru.New[keptKey, template.HTML](maxKept); err != nil {
		return nil, err
	}
	// A reverse proxy may change the Host to which the Origin is compared.
	if err := s.csrf.AddTrustedOrigin(public.Scheme + "://" + public.Host); err != nil {
		return nil, fmt.Errorf("page: public URL: %w", err)
	}
	if s.catalogue, err = loadCatalogue(cfg.Files); err != nil {
		return nil, err
	}
	if s.screens, err = parseScreens(cfg, s.catalogue); err != nil {
		return nil, err
	}
	static, err := fs.Sub(cfg.Files, "static")
	if err != nil {
		return nil, err
	}
	s.assets, err = LoadAssets(cfg.StaticPath, Source{Files: static}, Source{Files: templates.SharedStatic()})
	return s, err
}

// Assets returns the set's static files, for the routes.
func (s *Set) Assets() *Assets { return s.assets }

// Has reports whether the catalogues have a text.
func (s *Set) Has(key string) bool { return s.catalogue.locales[0].Has(key) }

// Languages returns the languages of the set, the reference first.
func (s *Set) Languages() []*Locale { return s.catalogue.locales }
