package wallets

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"agegate/internal/check/document/wallet"
)

// Statuses of sessions in the merchant's look-up.
const (
	passed  = "PASSED"
	pending = "PENDING"
)

// identity is how a gateway names itself to wallets.
type identity string

const (
	unsigned   identity = "not signed"
	byCertHash identity = "signed, x509_hash"
	byHostName identity = "signed, x509_san_dns"
)

// way is how a request reaches a wallet.
type way struct {
	name     string
	identity identity
	// ask lets the wallet answer the shopper's request. It returns why the wallet
	// does not answer, or "" and how the shopper's page continues.
	ask func(w *npmWallet, p *shopper, about map[string]any) (refused string)
	// only names the kinds of documents that the way can ask for; nil for all.
	only []string
}

// proofOfAge is the only kind of document that av:// asks for.
var proofOfAge = []string{wallet.DocTypeProofOfAge}

// ways are the rows of the table.
func ways() []way {
	mobile := []string{wallet.DocTypeMDL, wallet.DocTypeProofOfAge, wallet.DocTypePhotoID, wallet.DocTypeIDCard}
	all := []way{
		{"link `openid4vp://`", unsigned, byLink(wallet.SchemeOpenID), nil},
		{"QR code `openid4vp://`", unsigned, byCode(wallet.SchemeOpenID), nil},
		{"link `av://`", unsigned, byLink(wallet.SchemeProofOfAge), proofOfAge},
		{"QR code `av://`", unsigned, byCode(wallet.SchemeProofOfAge), proofOfAge},
		{"browser, `openid4vp-v1-unsigned`", unsigned, byBrowser(wallet.ProtocolOpenID), nil},
		{"browser, `org-iso-mdoc`", unsigned, byBrowser(wallet.ProtocolMdoc), mobile},
	}
	for _, i := range []identity{byCertHash, byHostName} {
		all = append(all,
			way{"link `openid4vp://`, `request_uri`", i, byLink(wallet.SchemeOpenID), nil},
			way{"QR code `openid4vp://`, `request_uri`", i, byCode(wallet.SchemeOpenID), nil},
			way{"browser, `openid4vp-v1-signed`", i, byBrowser(wallet.ProtocolSigned), nil},
			way{"browser, `org-iso-mdoc`, reader authenticated", i, byBrowser(wallet.ProtocolMdoc), mobile},
		)
	}
	return append(all, way{"link `av://`", byCertHash, byLink(wallet.SchemeProofOfAge), proofOfAge})
}

// received is a verifier's answer to a wallet.
type received struct {
	Status      int    `json:"status"`
	Body        string `json:"body"`
	ContentType string `json:"contentType"`
}

// follow opens the address to which a wallet on the shopper's device is sent.
func (p *shopper) follow(a received) {
	p.t.Helper()
	var back struct {
		To string `json:"redirect_uri"`
	}
	if a.Status != http.StatusOK || json.Unmarshal([]byte(a.Body), &back) != nil || back.To == "" {
		p.t.Errorf("the wallet's answer gets %d %s", a.Status, a.Body)
		return
	}
	p.send(http.MethodGet, back.To, nil)
}

func byLink(scheme string) func(*npmWallet, *shopper, map[string]any) string {
	return func(w *npmWallet, p *shopper, about map[string]any) string {
		var a received
		refused := w.do("answer", map[string]any{"wallet": about, "link": p.links[scheme]}, &a)
		if refused == "" {
			p.follow(a)
		}
		return refused
	}
}

// byCode lets the wallet scan the code in the shopper's page; the page then goes
// on by itself.
func byCode(scheme string) func(*npmWallet, *shopper, map[string]any) string {
	return func(w *npmWallet, p *shopper, about map[string]any) string {
		var a received
		refused := w.do("scan", map[string]any{"wallet": about, "picture": p.codes[scheme]}, &a)
		if refused == "" && a.Status != http.StatusOK {
			p.t.Errorf("the wallet's answer gets %d %s", a.Status, a.Body)
		}
		p.returns()
		return refused
	}
}

func byBrowser(protocol string) func(*npmWallet, *shopper, map[string]any) string {
	return func(w *npmWallet, p *shopper, about map[string]any) string {
		var answer json.RawMessage
		refused := w.do("present", map[string]any{"wallet": about, "requests": p.requests, "origin": verifyURL,
			"protocols": []string{protocol}}, &answer)
		if refused == "" {
			if status, body := p.present(answer); status != http.StatusOK {
				p.t.Errorf("the browser's answer gets %d %s", status, body)
			}
		}
		return refused
	}
}

// documents are the columns of the table.
var documents = []struct{ name, docType string }{
	{"driving licence (mDL)", wallet.DocTypeMDL},
	{"proof of age (EU)", wallet.DocTypeProofOfAge},
	{"photo ID", wallet.DocTypePhotoID},
	{"ID pass", wallet.DocTypeIDCard},
	{"PID (SD-JWT)", wallet.DocTypePID},
}

// A strict wallet answers only verifiers whose certificate leads to a root that it
// knows.
const (
	answersAny    = "any verifier"
	answersStrict = "registered verifiers"
)

// registered is a gateway with an identity, and the root that registered it.
type registered struct {
	shop *shop
	root string
}

// startAll starts a gateway for each identity.
func startAll(t *testing.T, issuer *authority) map[identity]registered {
	t.Helper()
	found := map[identity]registered{}
	for _, i := range []identity{unsigned, byCertHash, byHostName} {
		g := start(t)
		issuer.trust(t, g, wallet.DocTypes()...)
		found[i] = i.register(newShop(t, g))
	}
	return found
}

// register gives the shop's gateway the identity.
func (i identity) register(s *shop) registered {
	s.t.Helper()
	r := registered{shop: s}
	if i != unsigned {
		r.root = register(s.t, s.g, i == byHostName)
	}
	return r
}

// Every wallet proves the age by every way that it answers, with every kind of
// document, and the merchant's look-up says so. The result is the table of the
// document.
func TestTable(t *testing.T) {
	issuer := newAuthority(t)
	all := startAll(t, issuer)
	w := startNPM(t)
	head := []string{"The wallet answers", "Request", "Signed"}
	for _, d := range documents {
		w.do("issue", issuer.order(t, d.docType, d.docType, 30), nil)
		head = append(head, d.name)
	}
	lines := tableHead(append(head, "Why the wallet refuses")...)
	for _, answers := range []string{answersAny, answersStrict} {
		for _, y := range ways() {
			cells, why := []string{answers, y.name, string(y.identity)}, map[string]bool{}
			for _, d := range documents {
				cell, reason := all[y.identity].result(w, y, answers == answersStrict, d.docType)
				cells = append(cells, cell)
				why[reason] = reason != ""
			}
			expected := answers == answersStrict && (y.identity == unsigned || slices.Equal(y.only, proofOfAge))
			reasons := slices.DeleteFunc(slices.Sorted(maps.Keys(why)), func(r string) bool { return r == "" })
			if (len(reasons) > 0) != expected {
				t.Errorf("%s: the wallet for %s refuses because of %q", y.name, answers, reasons)
			}
			lines = append(lines, tableRow(append(cells, strings.Join(reasons, "; "))...))
		}
	}
	documented(t, "the versions", []string{npmVersions(t)})
	documented(t, "the table", lines)
}

// result lets the wallet answer a new session. It returns a cell of the table, and
// why the wallet does not answer, or "".
func (r registered) result(w *npmWallet, y way, strict bool, docType string) (cell, refused string) {
	t := r.shop.t
	t.Helper()
	if y.only != nil && !slices.Contains(y.only, docType) {
		return "–", ""
	}
	p := r.shop.shopper(18)
	refused = y.ask(w, p, r.about(docType, strict))
	status := p.status()
	switch {
	case refused != "" && status == pending:
		return "not answered", refused
	case refused == "" && status == passed:
		return "passes", ""
	default:
		t.Errorf("%s, %s, %s: the session is %s; the wallet's refusal: %q", y.name, y.identity, docType, status, refused)
		return status, refused
	}
}

// about describes a wallet with a document to the npm wallet.
func (r registered) about(docType string, strict bool) map[string]any {
	roots := []string{}
	if r.root != "" {
		roots = append(roots, r.root)
	}
	return map[string]any{"document": docType, "roots": roots, "strict": strict,
		"hosts": map[string]string{verifyURL: r.shop.g.URL}}
}

// A wallet that was registered with by another operator's root does not answer.
func TestUnknownVerifier(t *testing.T) {
	issuer := newAuthority(t)
	r := startAll(t, issuer)[byCertHash]
	r.root = base64.StdEncoding.EncodeToString(issuer.root.Raw)
	w := startNPM(t)
	w.do("issue", issuer.order(t, wallet.DocTypeMDL, wallet.DocTypeMDL, 30), nil)
	for _, ask := range []func(*npmWallet, *shopper, map[string]any) string{
		byLink(wallet.SchemeOpenID), byBrowser(wallet.ProtocolSigned), byBrowser(wallet.ProtocolMdoc),
	} {
		if refused := ask(w, r.shop.shopper(18), r.about(wallet.DocTypeMDL, true)); !strings.Contains(refused,
			"no trusted issuer") {
			t.Errorf("the wallet says %q", refused)
		}
	}
}

// A holder who is too young is refused by the document, and one who declines is
// shown so and can go on.
func TestRefusedHolders(t *testing.T) {
	issuer := newAuthority(t)
	all := startAll(t, issuer)
	w := startNPM(t)
	w.do("issue", issuer.order(t, wallet.DocTypeMDL, wallet.DocTypeMDL, 17), nil)
	for _, i := range []identity{unsigned, byCertHash} {
		r := all[i]
		young := r.shop.shopper(18)
		w.do("answer", map[string]any{"wallet": r.about(wallet.DocTypeMDL, false), "link": young.links[wallet.SchemeOpenID]},
			nil)
		if _, to := young.send(http.MethodGet, young.created.VerificationURL+"/wallet", nil); !strings.HasSuffix(to,
			"?refused=under_age") {
			t.Errorf("%s: a holder of 17 is sent to %s", i, to)
		}
		declining := r.shop.shopper(18)
		var a received
		w.do("decline", map[string]any{"wallet": r.about(wallet.DocTypeMDL, false),
			"link": declining.links[wallet.SchemeOpenID]}, &a)
		declining.follow(a)
		_, page := declining.send(http.MethodGet, declining.created.VerificationURL+"/wallet", nil)
		if !strings.Contains(page, "You declined in your wallet.") || declining.status() != pending {
			t.Errorf("%s: a holder who declines sees %.400s", i, page)
		}
		if refused := byLink(wallet.SchemeOpenID)(w, declining, r.about(wallet.DocTypeMDL, false)); refused != "" {
			t.Errorf("%s: the request cannot be answered after it was declined: %s", i, refused)
		}
	}
}
