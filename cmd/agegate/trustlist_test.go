package main

import (
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"agegate/internal/check/document/trustlist/trustlisttest"

	"github.com/rogpeppe/go-internal/testscript"
)

// publisher serves a signed list of issuers over HTTP.
type publisher struct {
	trustlisttest.Publisher

	server  *httptest.Server
	list    atomic.Pointer[[]byte]
	issuers map[string]*x509.Certificate
}

// publishers are those of the running scripts, by work directory.
var publishers sync.Map

// startPublisher starts a publisher for a script. It sets LISTS to its address, and
// writes its certificate to signer.pem and another's to other.pem.
func startPublisher(ts *testscript.TestScript) error {
	p := &publisher{Publisher: trustlisttest.NewPublisher("Publisher"), issuers: map[string]*x509.Certificate{}}
	p.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw := p.list.Load()
		switch {
		case r.URL.Path == "/moved":
			http.Redirect(w, r, "/av.xml", http.StatusFound)
		case r.URL.Path != "/av.xml" || raw == nil:
			http.NotFound(w, r)
		default:
			_, _ = w.Write(*raw)
		}
	}))
	ts.Defer(p.server.Close)
	publishers.Store(ts.MkAbs("."), p)
	ts.Setenv("LISTS", p.server.URL)
	return errors.Join(
		os.WriteFile(ts.MkAbs("signer.pem"), p.PEM(), 0o600),
		os.WriteFile(ts.MkAbs("other.pem"), trustlisttest.NewPublisher("Other").PEM(), 0o600),
	)
}

// publish NUMBER DAYS ISSUER... serves a list with these issuers that ends after some days, and writes it to list.xml.
// With a negative NUMBER the list has this number and is changed after it was signed.
func publish(ts *testscript.TestScript, _ bool, args []string) {
	p, number, days := publication(ts, args)
	x := trustlisttest.XML{Sequence: max(number, -number), Issued: now(), Next: now().AddDate(0, 0, days)}
	for _, name := range args[2:] {
		x.Services = append(x.Services, trustlisttest.Service{Provider: name, Certificate: p.issuer(name)})
	}
	if number < 0 {
		x.Final = func(text string) string {
			return strings.Replace(text, "<SchemeTerritory>EU", "<SchemeTerritory>UT", 1)
		}
	}
	raw := p.SignXML(x)
	p.list.Store(&raw)
	ts.Check(os.WriteFile(ts.MkAbs("list.xml"), raw, 0o600))
}

// publication returns the script's publisher, and the number and days in args.
func publication(ts *testscript.TestScript, args []string) (p *publisher, number, days int) {
	found, _ := publishers.Load(ts.MkAbs("."))
	p, ok := found.(*publisher)
	if !ok {
		ts.Fatalf("there is no publisher")
	}
	number, err := strconv.Atoi(args[0])
	ts.Check(err)
	days, err = strconv.Atoi(args[1])
	ts.Check(err)
	return p, number, days
}

// issuer returns the certificate of an issuer, the same for the same name.
func (p *publisher) issuer(name string) *x509.Certificate {
	if p.issuers[name] == nil {
		p.issuers[name] = trustlisttest.NewIssuer(name)
	}
	return p.issuers[name]
}

// publishEntities NUMBER DAYS ISSUER... serves a list of trusted entities as publish does.
func publishEntities(ts *testscript.TestScript, _ bool, args []string) {
	p, number, days := publication(ts, args)
	l := trustlisttest.LoTE{Sequence: number, Issued: now(), Next: now().AddDate(0, 0, days)}
	for _, name := range args[2:] {
		l.Entities = append(l.Entities, trustlisttest.Service{Provider: name, Certificate: p.issuer(name)})
	}
	raw := p.SignLoTE(l)
	p.list.Store(&raw)
}

// publishVICAL NUMBER DAYS ISSUER... writes a VICAL to list.cbor.
func publishVICAL(ts *testscript.TestScript, _ bool, args []string) {
	p, number, days := publication(ts, args)
	v := trustlisttest.VICAL{IssueID: uint64(number), Date: now(), Next: now().AddDate(0, 0, days)}
	for _, name := range args[2:] {
		v.Entries = append(v.Entries, trustlisttest.VICALEntry{Certificate: p.issuer(name), Authority: name,
			DocTypes: []string{"org.iso.18013.5.1.mDL", "org.example.other"}})
	}
	ts.Check(os.WriteFile(ts.MkAbs("list.cbor"), p.SignVICAL(v), 0o600))
}
