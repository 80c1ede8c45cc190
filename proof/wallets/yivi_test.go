package wallets

import (
	"cmp"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"agegate/internal/check/document/wallet"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/tenant"

	"github.com/glebarez/sqlite"
	"github.com/privacybydesign/irmago/common/clientmodels"
	"github.com/privacybydesign/irmago/eudi"
	eudijwt "github.com/privacybydesign/irmago/eudi/jwt"
	"github.com/privacybydesign/irmago/eudi/openid4vp"
	"github.com/privacybydesign/irmago/eudi/openid4vp/dcql"
	"github.com/privacybydesign/irmago/eudi/openid4vp/eudi_sdjwt_dcql"
	"github.com/privacybydesign/irmago/eudi/sdjwt"
	"github.com/privacybydesign/irmago/eudi/storage/db"
	"github.com/privacybydesign/irmago/eudi/storage/db/models"
	"github.com/privacybydesign/irmago/eudi/storage/filesystem"
	"github.com/sirupsen/logrus"
	"gorm.io/datatypes"
	"gorm.io/gorm"
)

// yivi is the wallet of the Yivi app, unmodified, with one PID. It answers links
// only of verifiers whose certificate leads to the root that it knows.
type yivi struct {
	t      *testing.T
	client *openid4vp.Client
	ended  chan string // why the wallet refuses, or "" at the end of a session
	answer string      // for the Digital Credentials API
}

// newYivi makes a wallet whose holder has the given age.
func newYivi(t *testing.T, issuer *authority, root string, age int) *yivi {
	t.Helper()
	eudi.Logger = logrus.New() // the package demands one
	eudi.Logger.SetOutput(io.Discard)
	opened, err := gorm.Open(sqlite.Open(":memory:"), &gorm.Config{})
	check(t, err)
	check(t, opened.AutoMigrate(&models.IssuerMetadataDisplay{}, &models.CredentialMetadata{}, &models.CredentialDisplay{},
		&models.CredentialClaim{}, &models.ClaimDisplay{}, &models.CredentialBatch{}, &models.IssuedCredentialInstance{}))
	store, keys := db.NewCredentialStore(opened), sdjwt.NewDefaultKeyBinderWithInMemoryStorage()
	check(t, store.StoreBatch(issuePID(t, issuer, keys, age)))
	handler := eudi_sdjwt_dcql.NewSdJwtVcDcqlHandler(files{filesystem.NewFileSystemStorage([32]byte{}, t.TempDir())},
		store, nil, nil, keys, clientmodels.NewCurrentLocale("en"), nil)

	verifiers := x509.NewCertPool()
	if root != "" {
		der, err := base64.StdEncoding.DecodeString(root)
		check(t, err)
		known, err := x509.ParseCertificate(der)
		check(t, err)
		verifiers.AddCert(known)
	}
	validator := openid4vp.NewRequestorCertificateStoreVerifierValidator(&eudijwt.StaticVerificationContext{
		VerifyOpts: x509.VerifyOptions{Roots: verifiers, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}},
	}, &openid4vp.DefaultQueryValidatorFactory{})
	client, err := openid4vp.NewClient(&eudi.Configuration{}, []dcql.DcqlCredentialQueryHandler{handler}, validator,
		clientmodels.NewCurrentLocale("en"))
	check(t, err)
	return &yivi{t: t, client: client, ended: make(chan string, 1)}
}

// files is the wallet's storage of pictures. Its database is opened by newYivi.
type files struct{ filesystem.FileSystemStorage }

//nolint:staticcheck // the package names the method
func (files) Db() *gorm.DB                               { return nil }
func (f files) FileSystem() filesystem.FileSystemStorage { return f.FileSystemStorage }
func (files) Close() error                               { return nil }
func (files) RemoveAll() error                           { return nil }

// issuePID issues a PID to a key of the wallet, with the wallet's own package.
func issuePID(t *testing.T, issuer *authority, keys sdjwt.KeyBinder, age int) *models.CredentialBatch {
	t.Helper()
	own, err := keys.CreateKeyPairs(1)
	check(t, err)
	holder, err := sdjwt.HolderKeyClaim(own[0])
	check(t, err)
	now := time.Now()
	const iss = "https://issuer.example"
	birthdate := strconv.Itoa(now.Year()-age-1) + "-01-01"
	issued, err := sdjwt.NewBuilder().WithTyp("dc+sd-jwt").
		WithIssuerCertificateChain([]string{base64.StdEncoding.EncodeToString(issuer.signer.Raw)}).
		WithPayload(
			sdjwt.Claim("vct", wallet.DocTypePID), sdjwt.Claim("iss", iss), holder,
			sdjwt.Claim("iat", now.Add(-time.Minute).Unix()), sdjwt.Claim("exp", now.Add(time.Hour).Unix()),
			sdjwt.SdClaim("birthdate", birthdate),
			sdjwt.Object("age_equal_or_over", sdjwt.SdClaim("18", age >= 18)),
		).Build(sdjwt.NewJwtCreator(issuer.own))
	check(t, err)
	payload, err := json.Marshal(map[string]any{
		"vct": wallet.DocTypePID, "iss": iss, "birthdate": birthdate, "age_equal_or_over": map[string]bool{"18": age >= 18},
	})
	check(t, err)
	return &models.CredentialBatch{
		IssuerURL: iss, CredentialIssuer: iss, VerifiableCredentialType: wallet.DocTypePID,
		Format: models.CredentialFormatSdJwtVc, Hash: "pid",
		ProcessedSdJwtPayload: datatypes.JSON(payload), IssuedAt: datatypes.NullTime{V: now, Valid: true}, BatchSize: 1,
		RemainingCount: 1,
		Instances:      []models.IssuedCredentialInstance{{RawCredential: []byte(issued)}},
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The holder agrees to everything that the wallet proposes first.
func (y *yivi) RequestVerificationPermission(
	plan *clientmodels.DisclosurePlan, _ *clientmodels.TrustedParty, queries map[string]string,
	answer openid4vp.PermissionHandler,
) {
	var chosen []dcql.DisclosureSelection
	for _, choice := range plan.DisclosureChoicesOverview {
		if len(choice.OwnedOptions) == 0 {
			continue
		}
		for _, c := range choice.OwnedOptions[0].Credentials {
			s := dcql.DisclosureSelection{QueryId: queries[c.Hash], CredentialHash: c.Hash, RequireHolderBinding: true}
			for _, a := range c.Attributes {
				s.ClaimPaths = append(s.ClaimPaths, a.ClaimPath)
			}
			chosen = append(chosen, s)
		}
	}
	answer(len(chosen) > 0, chosen)
}

func (y *yivi) Failure(err *clientmodels.SessionError)       { y.ended <- err.WrappedError }
func (y *yivi) Cancelled()                                   { y.ended <- noDocument }
func (y *yivi) Success(string, []clientmodels.LogCredential) { y.ended <- "" }

//nolint:staticcheck // the package names the method
func (y *yivi) DeliverDcApiResponse(response string) { y.answer = response }

// noDocument is why the wallet ends a session for which it has no document.
const noDocument = "the wallet has no such document"

// reached leads requests for the public address to the gateway until the test
// ends, because the wallet uses the process's own HTTP client.
func reached(t *testing.T, g *gatewaytest.Gateway) {
	t.Helper()
	direct := http.DefaultTransport
	t.Cleanup(func() { http.DefaultTransport = direct })
	http.DefaultTransport = roundTripper(func(req *http.Request) (*http.Response, error) {
		if req.URL.Host == verifyHost {
			req.URL.Scheme, req.URL.Host = "http", strings.TrimPrefix(g.URL, "http://")
		}
		return direct.RoundTrip(req)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// byLink answers a link and returns why the wallet refuses, or "".
func (y *yivi) byLink(link string) string {
	y.client.NewSession(link, y)
	return <-y.ended
}

// byBrowser answers the page's request by a protocol of the Digital Credentials
// API to a page of the given origin.
func (y *yivi) byBrowser(p *shopper, protocol, origin string) string {
	y.t.Helper()
	var requests []openid4vp.DcApiRequest
	check(y.t, json.Unmarshal(p.requests, &requests))
	for _, r := range requests {
		if r.Protocol != protocol {
			continue
		}
		r.Origin = origin
		y.client.NewDcApiSession(&r, y)
		refused := <-y.ended
		if refused != "" {
			return refused
		}
		answer, err := json.Marshal(map[string]any{"protocol": protocol, "data": json.RawMessage(y.answer)})
		check(y.t, err)
		if status, body := p.present(answer); status != http.StatusOK {
			y.t.Errorf("%s: the browser's answer gets %d %s", protocol, status, body)
		}
		return ""
	}
	y.t.Errorf("the page does not ask by %s", protocol)
	return ""
}

// The wallet of the Yivi app proves the age with a PID by every way that it
// answers. The shopper has a live session and chooses a document at once, because
// test sessions also ask for the documents of the sample wallet, and this wallet
// answers only requests whose queries it all knows.
func TestYivi(t *testing.T) {
	issuer, reader := newAuthority(t), startNPM(t)
	const link, code = "link `openid4vp://`", "QR code `openid4vp://`"
	lines := tableHead("Request", "Signed", "PID (SD-JWT)", "Why not")
	for _, i := range []identity{unsigned, byCertHash, byHostName} {
		s := newLiveShop(t, issuer)
		r := i.register(s)
		reached(t, s.g)
		why := map[string]string{link: "the wallet does not return to the page"}
		if i == unsigned {
			why = map[string]string{link: "request missing required request_uri", code: "request missing required request_uri"}
		}
		for _, way := range []string{link, code, wallet.ProtocolOpenID, wallet.ProtocolSigned} {
			if way == wallet.ProtocolSigned && i == unsigned {
				continue
			}
			p, y := s.preferring(), newYivi(t, issuer, r.root, 30)
			var refused string
			switch way {
			case link:
				refused = y.byLink(p.links[wallet.SchemeOpenID])
			case code:
				var read string
				reader.do("read", map[string]any{"picture": p.codes[wallet.SchemeOpenID]}, &read)
				refused = y.byLink(read)
			default:
				refused = y.byBrowser(p, way, verifyURL)
				way = "browser, `" + way + "`"
			}
			expected, cell := passed, "passes"
			if why[way] != "" {
				expected, cell = pending, "does not pass"
			}
			if status := p.returns(); status != expected || refused != "" && !strings.Contains(refused, cmp.Or(why[way], "?")) {
				t.Errorf("%s, %s: the session is %s; the wallet's refusal: %q", way, i, status, refused)
			}
			lines = append(lines, tableRow(way, string(i), cell, why[way]))
		}
	}
	documented(t, "the Go wallet", lines)
}

// The wallet refuses a verifier that somebody else registered, and a request that
// another page relays; the gateway refuses a holder who is too young.
func TestYiviRefuses(t *testing.T) {
	issuer := newAuthority(t)
	s := newLiveShop(t, issuer)
	r := byCertHash.register(s)
	reached(t, s.g)
	stranger := newYivi(t, issuer, base64.StdEncoding.EncodeToString(issuer.root.Raw), 30)
	if refused := stranger.byLink(s.preferring().links[wallet.SchemeOpenID]); !strings.Contains(refused,
		"failed to verify relying party certificate") {
		t.Errorf("a verifier that is not registered: %q", refused)
	}
	own := newYivi(t, issuer, r.root, 30)
	if refused := own.byBrowser(s.preferring(), wallet.ProtocolSigned,
		"https://phisher.example"); !strings.Contains(refused, "expected_origins") {
		t.Errorf("a relayed request: %q", refused)
	}
	young := s.preferring()
	if refused := newYivi(t, issuer, r.root, 17).byBrowser(young, wallet.ProtocolSigned, verifyURL); refused != "" {
		t.Errorf("the wallet of a holder of 17 refuses: %q", refused)
	}
	if status := young.returns(); status != pending {
		t.Errorf("the session of a holder of 17 is %s", status)
	}
}

// newLiveShop starts a gateway that trusts an issuer of PIDs only, for a shop with
// live sessions.
func newLiveShop(t *testing.T, issuer *authority) *shop {
	t.Helper()
	g := start(t, "AGEGATE_ESTIMATOR=onnx", "AGEGATE_MODELS_DIR=../../models", "AGEGATE_FREE_CHECKS_PER_MONTH=-1")
	issuer.trust(t, g, wallet.DocTypePID)
	credentials := g.Shop(t, "", func(s *tenant.Tenant) { s.DocumentCheck, s.WalletPID = true, true })
	return &shop{t, g, credentials.Live.APIKey}
}

// preferring creates a session whose shopper chooses a wallet at once.
func (s *shop) preferring() *shopper {
	s.t.Helper()
	p := &shopper{shop: s, created: s.create(18), browser: gatewaytest.Browser(), links: map[string]string{},
		codes: map[string]string{}}
	p.send(http.MethodGet, p.created.VerificationURL, nil)
	p.send(http.MethodPost, p.created.VerificationURL+"/start", url.Values{"choice": {"document"}})
	p.send(http.MethodPost, p.created.VerificationURL+"/document", url.Values{"choice": {"wallet"}})
	p.read()
	return p
}
