package wallets

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"agegate/internal/check/document/wallet"
)

// misbehaviour is an answer that must not prove the age. Names in parentheses are
// those of the OpenID Foundation's plan for verifiers.
type misbehaviour struct {
	name string
	form form // formLink if empty
	edit func(a *answer)
	want string // why the gateway refuses; see refusedAs
}

// What refusedAs returns besides the gateway's reasons.
const (
	notTaken = "not taken" // the answer was refused before it was read as one
	asBefore = "PENDING"
)

// Misbehaviours are refused for the reason that the table names, the gateway
// answers none with a server error, and an honest answer to the same request
// passes afterwards, unless the document itself was refused.
func TestMisbehaviours(t *testing.T) {
	issuer := newAuthority(t)
	all := startAll(t, issuer)
	holder := newKey(t, elliptic.P256())
	lines := tableHead("Misbehaviour", "By", "Refused as")
	var costs []cost
	names := map[string]bool{}
	for _, group := range [][]misbehaviour{protocolMisbehaviours(), encryptionMisbehaviours(), cborMisbehaviours(),
		issuerMisbehaviours(t, issuer), documentMisbehaviours(), deviceMisbehaviours(t), browserMisbehaviours(),
		pidMisbehaviours(t, issuer), jsonMisbehaviours()} {
		for _, m := range group {
			if m.form == "" {
				m.form = formLink
			}
			if names[m.name] {
				t.Errorf("two misbehaviours are named %q", m.name)
			}
			names[m.name] = true
			s := all[identityFor(m.form)].shop
			t.Run(m.name, func(t *testing.T) {
				got, c := m.play(t, &shop{t, s.g, s.key}, issuer, holder)
				if got != m.want {
					t.Errorf("refused as %q, want %q", got, m.want)
				}
				costs = append(costs, c)
			})
			lines = append(lines, tableRow(m.name, string(m.form), m.want))
		}
	}
	if len(names) < minMisbehaviours {
		t.Errorf("%d misbehaviours, want %d", len(names), minMisbehaviours)
	}
	report(t, costs)
	documented(t, "the misbehaviours", lines)
}

const minMisbehaviours = 500

// measured sends an answer and measures it, in `make wallets` as the median of nine
// times: a single time is often that of something else.
func (m misbehaviour) measured(sent *sending, p *shopper) (status int, body string, c cost) {
	p.t.Helper()
	times := 1
	if *record {
		times = 9
	}
	took := make([]time.Duration, times)
	for i := range took {
		before := processorTime()
		again, answered := sent.post(p)
		took[i] = processorTime() - before
		if i == 0 {
			status, body = again, answered
		}
	}
	slices.Sort(took)
	return status, body, cost{m.name, took[times/2]}
}

// play lets a wallet misbehave in a new session, and returns why it was refused.
func (m misbehaviour) play(
	t *testing.T, s *shop, issuer *authority, holder *ecdsa.PrivateKey,
) (refused string, c cost) {
	t.Helper()
	p := s.shopper(18)
	a := newAnswer(p.question(m.form), issuer, holder)
	m.edit(a)
	sent := a.sending(p)
	status, body, c := m.measured(sent, p)
	if status >= http.StatusInternalServerError {
		t.Errorf("the gateway answers %d", status)
	}
	refused = refusedAs(p, m.form, status, body)
	if slices.Contains([]string{"expired", "under_age"}, refused) {
		if got := p.status(); got != asBefore {
			t.Errorf("the session is %s", got)
		}
		return refused, c
	}
	if got := p.returns(); got != asBefore {
		t.Errorf("the session is %s", got)
	}
	honest := newAnswer(a.request, issuer, holder)
	if status, body := honest.sending(p).post(p); status != http.StatusOK {
		t.Errorf("an honest answer gets %d %s afterwards", status, body)
	}
	if got := p.returns(); got != passed {
		t.Errorf("the session is %s after an honest answer", got)
	}
	return refused, c
}

// refusedAs returns why an answer was refused: from the answer to the page's script,
// or from the page that the browser opens next.
func refusedAs(p *shopper, f form, status int, body string) string {
	p.t.Helper()
	if f.inBrowser() {
		var told struct {
			Refused string `json:"refused"`
			Next    string `json:"next"`
		}
		if status != http.StatusOK || json.Unmarshal([]byte(body), &told) != nil {
			return fmt.Sprintf("%s (%d)", notTaken, status)
		}
		if _, reason, ok := strings.Cut(told.Next, "refused="); ok {
			return reason
		}
		return told.Refused
	}
	var told struct {
		State string `json:"state"`
	}
	_, state := p.send(http.MethodGet, p.created.VerificationURL+"/wallet/state", nil)
	decode(p.t, []byte(state), &told)
	switch told.State {
	case "open":
		return fmt.Sprintf("%s (%d)", notTaken, status)
	case "over":
		_, to := p.send(http.MethodGet, p.created.VerificationURL+"/wallet", nil)
		_, reason, _ := strings.Cut(to, "refused=")
		return reason
	default:
		return told.State
	}
}

// cost is the processor time of one answer: of the whole process, which is the
// gateway and the wallet.
type cost struct {
	name string
	took time.Duration
}

func processorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err) // never fails for the own process
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// report prints what answers cost. What bounds the cost is in the table: answers
// that would cost more are refused before anything is computed with them.
func report(t *testing.T, costs []cost) {
	t.Helper()
	slices.SortFunc(costs, func(a, b cost) int { return int(b.took - a.took) })
	var sum time.Duration
	for _, c := range costs {
		sum += c.took
	}
	const shown = 5
	t.Logf("%d misbehaviours, %s of processor time each on average; the dearest:", len(costs),
		(sum / time.Duration(max(len(costs), 1))).Round(time.Microsecond))
	for _, c := range costs[:min(shown, len(costs))] {
		t.Logf("%s: %s", c.name, c.took.Round(time.Microsecond))
	}
}

// Honest answers of the wallet that misbehaves pass by every form, so that its
// misbehaviours are refused for themselves.
func TestHappyFlow(t *testing.T) {
	issuer := newAuthority(t)
	all := startAll(t, issuer)
	holder := newKey(t, elliptic.P256())
	for _, f := range []form{formLink, formProofOfAge, formSigned, formBrowser, formMdoc, formPID, formSignedPID,
		formBrowserPID} {
		r := all[identityFor(f)]
		p := r.shop.shopper(18)
		q := p.question(f)
		a := newAnswer(q, issuer, holder)
		if f == formMdoc { // the first request asks for the proof of age
			a.docType, a.space = wallet.DocTypeProofOfAge, namespaces[wallet.DocTypeProofOfAge]
		}
		status, body := a.sending(p).post(p)
		if got := p.returns(); status != http.StatusOK || got != passed {
			t.Errorf("%s: %d %s, the session is %s", f, status, body, got)
		}
	}
}
