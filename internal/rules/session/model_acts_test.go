package session_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"

	"pgregory.net/rapid"
)

// replica draws the replica that answers.
func (m *machine) replica(t *rapid.T) replica {
	return m.replicas[rapid.IntRange(0, 1).Draw(t, "replica")]
}

// pick draws one session and a row of it that a page has read now or earlier, or
// skips.
func (m *machine) pick(t *rapid.T) (*model, session.Session) {
	if len(m.models) == 0 {
		t.Skip("no session yet")
	}
	s := m.models[rapid.IntRange(0, len(m.models)-1).Draw(t, "session")]
	if rapid.Bool().Draw(t, "fresh") {
		row, err := m.replica(t).sessions.ByLink(context.Background(), s.link)
		ok(t, err)
		s.views = append(s.views, row)
	}
	return s, s.views[rapid.IntRange(0, len(s.views)-1).Draw(t, "view")]
}

// refused checks the refusal of an act on a session that is not open or whose
// tenant is disabled. It reports false if neither is the case.
func (m *machine) refused(t *rapid.T, s *model, err error) bool {
	switch {
	case m.tenant.Disabled:
		expect(t, err, fault.TenantDisabled)
	case !s.open(m.now):
		expect(t, err, fault.Gone)
	default:
		return false
	}
	return true
}

func (m *machine) consent(t *rapid.T) {
	s, row := m.pick(t)
	accepted := rapid.Bool().Draw(t, "accepted")
	err := m.replica(t).sessions.Consent(context.Background(), row, accepted)
	switch {
	case m.refused(t, s, err):
	case !m.tenant.AgeVisibility:
		expect(t, err, fault.Conflict)
	case s.Attempts > 0 || s.DocumentOpenedAt != nil:
		expect(t, err, fault.Gone)
	default:
		ok(t, err)
		if s.ConsentedAt = nil; accepted {
			at := m.now
			s.ConsentedAt = &at
		}
	}
}

func (m *machine) handOver(t *rapid.T) {
	s, row := m.pick(t)
	handovers := m.replica(t).handovers
	err := handovers.Offer(context.Background(), row, browserCookie)
	switch {
	case m.refused(t, s, err):
	case s.DocumentOpenedAt != nil && (s.FaceMatchAt == nil || !m.allows(session.WayPhoto)):
		expect(t, err, fault.Gone)
	default:
		ok(t, err)
		offer, err := handovers.Offered(context.Background(), row, browserCookie)
		ok(t, err)
		s.token, s.phone, s.tokenEnd = offer.Token, "", m.now.Add(session.HandoverTTL)
	}
}

// takeHandover lets another phone accept the current code.
func (m *machine) takeHandover(t *rapid.T) {
	s, row := m.pick(t)
	if s.token == "" {
		t.Skip("no handover yet")
	}
	m.phones++
	phone := fmt.Sprint("phone ", m.phones)
	taken, err := m.replica(t).handovers.Take(context.Background(), row, s.token, phone)
	switch {
	case m.refused(t, s, err):
	case s.DocumentOpenedAt != nil && (s.FaceMatchAt == nil || !m.allows(session.WayPhoto)):
		expect(t, err, fault.Gone)
	default:
		ok(t, err)
		if want := s.phone == "" && m.now.Before(s.tokenEnd); taken != want {
			t.Fatalf("taken: %t, want %t", taken, want)
		}
		if taken {
			s.phone = phone
		}
	}
}

func (m *machine) openSocket(t *rapid.T) {
	s, row := m.pick(t)
	next := &socket{model: s, view: row, replica: m.replica(t)}
	if s.phone != "" && rapid.Bool().Draw(t, "on the phone") {
		next.token, next.phone = s.token, s.phone
	}
	m.sockets = append(m.sockets, next)
}

func (m *machine) socket(t *rapid.T) *socket {
	if len(m.sockets) == 0 {
		t.Skip("no socket yet")
	}
	return m.sockets[rapid.IntRange(0, len(m.sockets)-1).Draw(t, "socket")]
}

func (m *machine) attempt(t *rapid.T) {
	s := m.socket(t)
	after, err := s.replica.sessions.StartAttempt(context.Background(), s.view, s.claim())
	switch {
	case m.refused(t, s.model, err):
	case !s.entitled():
		expect(t, err, fault.Gone)
	case s.Attempts >= session.MaxAttempts:
		expect(t, err, fault.TooMany)
	case !m.films(s.model):
		expect(t, err, fault.Gone)
	default:
		ok(t, err)
		s.Attempts++
	}
	s.answers(t, after)
}

// returnAttempt lets a server take back an attempt that it could not serve to its
// end.
func (m *machine) returnAttempt(t *rapid.T) {
	s := m.socket(t)
	_, err := s.replica.sessions.EndAttempt(context.Background(), s.view, session.WhyBusy)
	switch {
	case m.refused(t, s.model, err):
	case s.Attempts == 0 || s.DocumentOpenedAt != nil:
		expect(t, err, fault.Gone)
	default:
		ok(t, err)
		s.Attempts--
		s.keeps(session.WhyBusy)
	}
}

// answers checks the session returned by an act.
func (m *model) answers(t *rapid.T, after session.Session) {
	t.Helper()
	if got, want := describe(after), describe(m.Session); got != want {
		t.Fatalf("answer %s\nmodel  %s", got, want)
	}
}

// keeps keeps why an attempt gave no result.
func (m *model) keeps(why string) { m.Setbacks = append(m.Setbacks, session.Setback{Why: why}) }

// forgetsRefusal drops why the last document was refused.
func (m *model) forgetsRefusal() {
	m.Setbacks = slices.DeleteFunc(m.Setbacks, func(b session.Setback) bool {
		return strings.HasPrefix(b.Why, session.NoteDocument+"_")
	})
}

// trouble lets a browser say what is wrong with its camera.
func (m *machine) trouble(t *rapid.T) {
	s, row := m.pick(t)
	word := rapid.SampledFrom(session.Troubles[:2]).Draw(t, "trouble")
	err := m.replica(t).sessions.Note(context.Background(), row, session.Claim{}, session.NoteBrowser+"_"+word)
	if m.refused(t, s, err) {
		return
	}
	ok(t, err)
	note := session.NoteBrowser + "_" + word
	s.Setbacks = slices.DeleteFunc(s.Setbacks, func(b session.Setback) bool { return b.Why == note })
	s.keeps(note)
}

// useUp ends an attempt as a socket does, or gives one up as a page does.
func (m *machine) useUp(t *rapid.T) {
	s, row := m.pick(t)
	last := row.AttemptsLeft() == 0 && s.Attempts >= session.MaxAttempts // also in the caller's view
	why := rapid.SampledFrom([]string{"", session.WhyAgain, session.WhyAstray}).Draw(t, "why")
	after, err := m.replica(t).sessions.EndAttempt(context.Background(), row, why)
	switch {
	case m.refused(t, s, err):
	case s.DocumentOpenedAt != nil || last && !m.films(s):
		expect(t, err, fault.Gone)
	default:
		ok(t, err)
		if why != "" {
			s.keeps(why)
		}
		if last {
			m.fallBack(s)
		}
	}
	s.answers(t, after)
}

// spend starts all attempts that are left, which single steps seldom do.
func (m *machine) spend(t *rapid.T) {
	s, row := m.pick(t)
	if m.tenant.Disabled || !s.open(m.now) || !m.films(s) {
		t.Skip("no attempt can begin")
	}
	for ; s.Attempts < session.MaxAttempts; s.Attempts++ {
		_, err := m.replica(t).sessions.StartAttempt(context.Background(), row, session.Claim{})
		ok(t, err)
	}
}

// films reports whether a camera check can go on.
func (m *machine) films(s *model) bool { return s.DocumentOpenedAt == nil && !m.tenant.DocumentOnly }

// fallBack ends a camera check whose cutoff is not met.
func (m *machine) fallBack(s *model) {
	if !m.tenant.OffersDocument() {
		m.end(s, session.StatusFallback)
		return
	}
	at := m.now
	s.DocumentOpenedAt = &at
	m.extend(s)
}

// goWithout lets a shopper, here or on the phone, continue without the camera.
func (m *machine) goWithout(t *rapid.T) {
	s := m.socket(t)
	m.resolve(t, s.model, s.replica, s.view, session.NoEstimate(s.claim()), s.entitled() && m.films(s.model))
}

// preferDocument lets a shopper, here or on the phone, choose a document instead of
// the camera. This never ends a session.
func (m *machine) preferDocument(t *rapid.T) {
	s := m.socket(t)
	first := m.tenant.DocumentCheck && s.Attempts == 0 || m.tenant.DocumentOnly
	applies := s.entitled() && s.DocumentOpenedAt == nil && first
	m.resolve(t, s.model, s.replica, s.view, session.PreferDocument(s.claim()), applies)
}

func (m *machine) strike(t *rapid.T) {
	s := m.socket(t)
	after, err := s.replica.sessions.Strike(context.Background(), s.view, s.claim())
	switch {
	case m.refused(t, s.model, err):
	case !s.entitled() || !m.films(s.model):
		expect(t, err, fault.Gone)
	default:
		ok(t, err)
		s.Strikes++
		s.keeps(session.WhyUnsure)
		if s.Strikes >= session.MaxStrikes {
			m.end(s.model, session.StatusSpoof)
		} else if s.Attempts >= session.MaxAttempts {
			m.fallBack(s.model)
		}
	}
	s.answers(t, after)
}

func (m *machine) end(s *model, to session.Status) {
	at := m.now
	s.Status, s.CompletedAt = to, &at
}

// verdict submits a result of a socket's camera.
func (m *machine) verdict(t *rapid.T) {
	s := m.socket(t)
	years := 25.5
	v := session.CheckResult{
		Result: rapid.SampledFrom([]session.Result{session.ResultVerified, session.ResultFallback}).Draw(t, "result"),
		Source: session.SourceCamera, Estimate: &years, Claim: s.claim(),
	}
	m.resolve(t, s.model, s.replica, s.view, v, s.entitled() && m.films(s.model))
}

func (m *machine) force(t *rapid.T) {
	s, row := m.pick(t)
	v := session.CheckResult{
		Result: rapid.SampledFrom([]session.Result{session.ResultVerified, session.ResultFallback,
			session.ResultSpoof}).Draw(t, "result"),
		Source: session.SourceForced,
	}
	m.resolve(t, s, m.replica(t), row, v, m.films(s) || v.Result != session.ResultSpoof)
}

// endDocument ends a document check with a result or by the shopper's refusal.
func (m *machine) endDocument(t *rapid.T) {
	s, row := m.pick(t)
	v := session.CheckResult{
		Result: rapid.SampledFrom([]session.Result{session.ResultVerified, session.ResultFallback,
			session.ResultSpoof}).Draw(t, "result"),
		Source: session.SourceDocument,
		Way:    rapid.SampledFrom([]session.Way{"", session.WayWallet, session.WayPhoto}).Draw(t, "way"),
	}
	if v.Way == session.WayWallet {
		v.Request = s.drawRequest(t)
	}
	applies := s.DocumentOpenedAt != nil && v.Result != session.ResultSpoof && m.judges(s, v.Way) && s.asks(v.Request)
	m.resolve(t, s, m.replica(t), row, v, applies)
}

// drawRequest draws the nonce of a wallet's answer: the current one, an earlier
// one or none.
func (m *model) drawRequest(t *rapid.T) []byte {
	return rapid.SampledFrom([][]byte{nil, m.request, make([]byte, 16)}).Draw(t, "request")
}

// asks reports whether a document that answers the given request, or no request,
// may have a result.
func (m *model) asks(request []byte) bool { return request == nil || bytes.Equal(m.request, request) }

// use ends the request that a document has answered.
func (m *model) use(request []byte) {
	if request != nil {
		m.request, m.answered = nil, false
	}
}

// walletAnswers stores an answer that waits for the session's own browser.
func (m *machine) walletAnswers(t *rapid.T) {
	s, _ := m.pick(t)
	request := s.drawRequest(t)
	got, err := m.db.RecordWalletOutcome(context.Background(), s.LinkHash, request, "under_age", true)
	ok(t, err)
	want := request != nil && s.asks(request) && !s.answered
	if got != want {
		t.Fatalf("answered: %t, want %t", got, want)
	}
	s.answered = s.answered || want
}

// replaces reports whether a way can begin, which ends the open request to a
// wallet and creates the next one.
func (m *machine) replaces(s *model, request []byte) bool {
	if !m.allows(session.WayWallet) {
		return true
	}
	if !s.answered {
		s.request = request
	}
	return !s.answered
}

// allows reports whether the tenant allows a way now; the empty way is allowed.
func (m *machine) allows(way session.Way) bool {
	return way == "" || len(m.tenant.DocumentWays) == 0 || slices.Contains(m.tenant.DocumentWays, string(way))
}

// judges reports whether a document on a way counts for a session now.
func (m *machine) judges(s *model, way session.Way) bool {
	return m.allows(way) && (way != session.WayPhoto || s.FaceMatchAt != nil)
}

func drawWay(t *rapid.T) session.Way {
	return rapid.SampledFrom([]session.Way{session.WayWallet, session.WayPhoto}).Draw(t, "way")
}

// refuseDocument submits a document that was read and refused.
func (m *machine) refuseDocument(t *rapid.T) {
	s, row := m.pick(t)
	way := drawWay(t)
	read := session.Document{Way: way, Why: rapid.SampledFrom([]string{"expired", "under_age"}).Draw(t, "why")}
	if way == session.WayWallet {
		read.Request = s.drawRequest(t)
	}
	after, err := m.replica(t).sessions.RefuseDocument(context.Background(), row, read)
	switch {
	case m.refused(t, s, err):
	case s.DocumentOpenedAt == nil || !m.allows(way) || !s.asks(read.Request):
		expect(t, err, fault.Gone)
	default:
		ok(t, err)
		s.use(read.Request)
		s.DocumentWay = way
		s.forgetsRefusal()
		s.keeps(session.NoteDocument + "_" + read.Why)
		if s.DocumentAttempts++; s.DocumentAttempts == session.MaxDocuments {
			m.end(s, session.StatusFallback)
		}
	}
	s.answers(t, after)
}

// resolve submits a result to a session, which may be open or not.
func (m *machine) resolve(t *rapid.T, s *model, at replica, row session.Session, v session.CheckResult, applies bool) {
	after, err := at.sessions.Resolve(context.Background(), row, v)
	switch {
	case m.refused(t, s, err):
	case !applies:
		expect(t, err, fault.Gone)
	default:
		ok(t, err)
		if v.Estimate != nil && s.ConsentedAt != nil && m.tenant.AgeVisibility {
			s.DetectedAge = v.Estimate
		}
		s.use(v.Request)
		if v.Way != "" {
			s.DocumentWay = v.Way
			s.forgetsRefusal()
		}
		if v.Way == session.WayPhoto && v.Result == session.ResultFallback {
			s.keeps(session.WhyUnlive)
		}
		if v.Result == session.ResultFallback && (m.films(s) || v.Preferred) {
			if v.Source == session.SourceForced && m.tenant.OffersDocument() {
				s.keeps(session.NoteForced)
			}
			m.fallBack(s)
			s.DocumentPreferred = v.Preferred
		} else {
			m.end(s, v.Result.Status())
		}
	}
	s.answers(t, after)
}

func (m *machine) extend(s *model) {
	at := m.now.Add(ttl)
	if limit := s.CreatedAt.Add(session.MaxLifetime); at.After(limit) {
		at = limit
	}
	if at.After(s.ExpiresAt) {
		s.ExpiresAt = at
	}
}

func (m *machine) chooseWay(t *rapid.T) {
	s, row := m.pick(t)
	way := drawWay(t)
	var request []byte
	if way == session.WayWallet {
		m.requests++
		request = binary.BigEndian.AppendUint64(make([]byte, 8), m.requests)
	}
	_, err := m.replica(t).sessions.ChooseWay(context.Background(), row, way, request)
	switch {
	case m.refused(t, s, err):
	case s.DocumentOpenedAt == nil || !m.allows(way):
		expect(t, err, fault.Gone)
	case !m.replaces(s, request):
		expect(t, err, fault.Conflict)
	default:
		ok(t, err)
		s.FaceMatchAt = nil
		m.extend(s)
	}
}

// agree lets a shopper agree to the comparison of faces.
func (m *machine) agree(t *rapid.T) {
	s, row := m.pick(t)
	after, err := m.replica(t).sessions.ConsentFaceMatch(context.Background(), row)
	switch {
	case m.refused(t, s, err):
	case s.DocumentOpenedAt == nil || !m.allows(session.WayPhoto):
		expect(t, err, fault.Gone)
	case !m.replaces(s, nil):
		expect(t, err, fault.Conflict)
	default:
		ok(t, err)
		if s.FaceMatchAt == nil {
			at := m.now
			s.FaceMatchAt = &at
		}
		m.extend(s)
	}
	s.answers(t, after)
}

// film photographs a document on a socket.
func (m *machine) film(t *rapid.T) {
	s := m.socket(t)
	part := time.Duration(rapid.IntRange(1, 400).Draw(t, "seconds")) * time.Second
	after, err := s.replica.sessions.TakeDocumentCamera(context.Background(), s.view, s.claim(), part)
	switch {
	case m.refused(t, s.model, err):
	case !s.entitled() || !m.allows(session.WayPhoto):
		expect(t, err, fault.Gone)
	case s.DocumentOpenedAt != nil && s.DocumentCamera+part > session.MaxDocumentCamera:
		expect(t, err, fault.TooMany)
	case s.DocumentOpenedAt == nil || s.FaceMatchAt == nil:
		expect(t, err, fault.Gone)
	default:
		ok(t, err)
		s.DocumentCamera += part
		m.extend(s.model)
	}
	s.answers(t, after)
}
