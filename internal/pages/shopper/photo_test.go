package shopper

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"agegate/internal/check/age"
	"agegate/internal/check/document"
	"agegate/internal/check/document/photo"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/billing/billingtest"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"
)

// film is a check of a document that answers with prepared steps.
type film struct {
	steps []photo.Step
	next  uint32
}

func (f *film) Nonce() [16]byte { return scriptNonce }
func (f *film) MoreTime() bool  { return false }
func (f *film) Add(_ context.Context, frame age.Frame) (photo.Step, error) {
	if frame.Nonce != scriptNonce || frame.Seq != f.next {
		return photo.Step{}, age.ErrForeignFrame
	}
	f.next++
	step := f.steps[0]
	f.steps = f.steps[1:]
	return step, nil
}

var stepFilming = photo.Step{Stage: photo.StageDocument,
	Step: age.Step{Guidance: "document.closer", Phase: "document", Full: true}}

// filmed returns pages whose checks of documents have an outcome at the second
// frame.
func filmed(t *testing.T, outcome photo.Outcome) *fixture {
	f := newFixture(t, tenant.Tenant{DocumentCheck: true}, scripted())
	f.photos = func(session.Session, bool) document.PhotoCheck {
		return &film{steps: []photo.Step{stepFilming, {Stage: photo.StageFace, Outcome: outcome}}}
	}
	f.serve(scripted())
	return f
}

// agreed returns a browser whose session waits for a photographed document.
func (f *fixture) agreed() (link string, shopper *browser) {
	f.t.Helper()
	link, shopper = f.session(true), f.browser()
	f.offer(shopper, link)
	path := strings.TrimPrefix(link, f.server.URL)
	shopper.post(link+"/document", url.Values{"choice": {"photo"}}).leadsTo(f.t, path+"/photo")
	shopper.get(link+"/photo").shows(f.t, http.StatusOK, "screen-photo")
	shopper.post(link+"/photo", url.Values{"compare": {"yes"}}).leadsTo(f.t, path+"/photo")
	shopper.get(link+"/photo").shows(f.t, http.StatusOK, "screen-primer")
	return link, shopper
}

// films sends two frames and returns the last message of the stream.
func (b *browser) films(link string) onwardMessage {
	b.t.Helper()
	c := b.camera(link)
	var first hello
	must(b.t, json.Unmarshal([]byte(c.read()), &first))
	c.send(frame(scriptNonce, 0))
	if got := c.read(); !strings.HasPrefix(got,
		`{"seq":0,"stage":"document","guidance":"document.closer","phase":"document"`) {
		b.t.Errorf("guidance %s", got)
	}
	c.send(frame(scriptNonce, 1))
	var last onwardMessage
	must(b.t, json.Unmarshal([]byte(c.read()), &last))
	c.closes(closeReload)
	return last
}

// youngEnds begins the end of the check after a document of somebody too young, which asks once more. What is left to
// try comes before it.
const youngEnds = `<details class="decline"><summary class="button quiet" data-testid="decline">`

func TestOutcomesOfAPhotographedDocument(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		outcome  photo.Outcome
		status   session.Status
		attempts int
		refused  photo.Outcome
	}{
		{photo.Passed, session.StatusPassed, 0, ""},
		{photo.NotLive, session.StatusFallback, 0, ""},
		{photo.Doubtful, session.StatusPending, 0, photo.Doubtful},
		{photo.Expired, session.StatusPending, 1, photo.Expired},
		{photo.UnderAge, session.StatusPending, 1, photo.UnderAge},
		{photo.AnotherFace, session.StatusPending, 1, photo.AnotherFace},
	} {
		t.Run(string(row.outcome), func(t *testing.T) {
			f := filmed(t, row.outcome)
			link, shopper := f.agreed()
			if last := shopper.films(link); last.Next != "reload" || last.Refused != string(row.refused) {
				t.Errorf("last message %+v", last)
			}
			s := f.stored(link)
			if s.Status != row.status || s.DocumentAttempts != row.attempts || s.DocumentCamera != 10*time.Second ||
				s.DetectedAge != nil {
				t.Errorf("%s after %d refusals and %s of camera time", s.Status, s.DocumentAttempts, s.DocumentCamera)
			}
			if read := row.outcome != photo.Doubtful; read != (s.DocumentWay == session.WayPhoto) {
				t.Errorf("way %q", s.DocumentWay)
			}
			if why := map[photo.Outcome]string{photo.Doubtful: session.WhyDoubtful, photo.NotLive: session.WhyUnlive}; s.Why() !=
				why[row.outcome] {
				t.Errorf("kept %v", s.Setbacks)
			}
			switch row.status {
			case session.StatusPassed:
				passing(t, shopper.get(link), s.ID.String())
			case session.StatusFallback:
				ended := shopper.get(link)
				ended.shows(t, http.StatusOK, "screen-fallback")
				contains(t, ended.body, "Your document was read, but we could not confirm that a live person",
					"your face towards a window", "begin with a document")
			default:
				refused := shopper.get(link + "/photo?refused=" + string(row.refused))
				refused.shows(t, http.StatusOK, "refused-"+string(row.refused))
				before, after, _ := strings.Cut(refused.body, `class="button primary" data-do="open" data-testid="open-camera"`)
				opens, ends := after != "" && !strings.Contains(before, youngEnds), strings.Contains(after, youngEnds)
				says := strings.Contains(refused.body, "Your document must show that you are 18 or over")
				// The ways are known, so they are folded.
				folded := strings.Contains(refused.body, `<summary>Photograph your document</summary><ol class="ways">`)
				young, known := row.refused == photo.UnderAge, row.refused != photo.Doubtful
				if ends != young || !opens || says != young || folded != known {
					t.Errorf("%s: the end follows: %t, the camera: %t, the age: %t, folded: %t",
						row.refused, ends, opens, says, folded)
				}
				if a := shopper.get(link + "/photo?refused=passed"); strings.Contains(a.body, `data-testid="refused-`) {
					t.Error("an outcome that is no refusal is shown as one")
				}
			}
		})
	}
}

// A face that gives no result is asked for again: the page learns why, and the document, which was
// read, is not asked for again.
func TestTheFaceIsAskedForAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{DocumentCheck: true}, scripted())
	reasons := map[age.Reason]string{"": session.WhyAgain, age.ReasonAstray: session.WhyAstray,
		age.ReasonUnmoved: session.WhyUnmoved, age.ReasonHasty: session.WhyHasty, age.ReasonUnserved: session.WhyBusy,
		age.ReasonDrawn: session.WhyDrawn}
	for reason, why := range reasons {
		f.photos = func(session.Session, bool) document.PhotoCheck {
			return &film{steps: []photo.Step{stepFilming, {Stage: photo.StageFace, Step: unfinished(reason)}, stepFilming}}
		}
		f.serve(scripted())
		link, shopper := f.agreed()
		page := shopper.get(link + "/photo").body
		contains(t, page, `data-testid="screen-again"`, `data-key="again.`+why+`"`, "You only need to show your face again")
		c := shopper.camera(link)
		c.read()
		for n, want := range []string{"", why, ""} {
			c.send(frame(scriptNonce, uint32(n)))
			var said guidance
			must(t, json.Unmarshal([]byte(c.read()), &said))
			if said.Again != want {
				t.Errorf("%q, picture %d: again %q, want %q", reason, n, said.Again, want)
			}
		}
	}
}

// The third document that is read and refused ends the check as not passed. The page says why the last one
// was refused, and invites nobody to another check whose document is under age.
func TestTheThirdDocumentIsFinal(t *testing.T) {
	t.Parallel()
	for outcome, says := range map[photo.Outcome]string{
		photo.UnderAge: "Your document says that you are younger than Corner Shop requires. Corner Shop decides what else is possible.</p>",
		photo.Expired:  "has ended without confirming your age. That document has expired.</p>",
	} {
		f := filmed(t, outcome)
		link, shopper := f.agreed()
		for n := range session.MaxDocuments {
			if n == session.MaxDocuments-1 && f.stored(link).Status != session.StatusPending {
				t.Fatal("ended too early")
			}
			shopper.films(link)
		}
		got := f.stored(link)
		if got.Status != session.StatusFallback || got.Source != session.SourceDocument || len(got.Setbacks) != 1 {
			t.Errorf("%s by %s, with %v", got.Status, got.Source, got.Setbacks)
		}
		ended := shopper.get(link).body
		contains(t, ended, says)
		if strings.Contains(ended, "begin with a document") != (outcome != photo.UnderAge) {
			t.Errorf("%s: wrong advice in %s", outcome, ended)
		}
	}
}

// Why the last document was refused is kept from the first on, and no longer with a pass, as the page says.
func TestTheLastRefusalIsKept(t *testing.T) {
	t.Parallel()
	f := filmed(t, photo.Passed)
	link, _ := f.agreed()
	for _, why := range []photo.Outcome{photo.Expired, photo.AnotherFace} {
		_, err := f.sessions.RefuseDocument(t.Context(), f.stored(link),
			session.Document{Way: session.WayPhoto, Why: string(why)})
		must(t, err)
		if got := f.stored(link); got.Last(session.NoteDocument) != string(why) || len(got.Setbacks) != 1 {
			t.Errorf("after %s: %v", why, got.Setbacks)
		}
	}
	_, err := f.sessions.Resolve(t.Context(), f.stored(link), session.CheckResult{Result: session.ResultVerified,
		Source: session.SourceDocument, Way: session.WayPhoto})
	must(t, err)
	if got := f.stored(link); got.Status != session.StatusPassed || len(got.Setbacks) != 0 {
		t.Errorf("after a pass: %s with %v", got.Status, got.Setbacks)
	}
}

// Nothing is filmed without consent, by another browser, or after the time is
// over.
func TestDocumentsThatMayNotBeFilmed(t *testing.T) {
	t.Parallel()
	f := filmed(t, photo.Passed)
	link, shopper := f.session(true), f.browser()
	path := strings.TrimPrefix(link, f.server.URL)
	shopper.get(link+"/photo").leadsTo(t, path) // nothing is offered yet
	f.offer(shopper, link)
	shopper.camera(link).closes(closeReload)
	contains(t, shopper.get(link+"/photo").body, " novalidate>") // the page says it, in its own language
	shopper.post(link+"/photo", nil).shows(t, http.StatusOK, "consent-missing")
	f.browser().post(link+"/photo", url.Values{"compare": {"yes"}})
	if f.stored(link).FaceMatchAt != nil {
		t.Fatal("another browser agreed")
	}
	shopper.camera(link).closes(closeReload)

	link, shopper = f.agreed()
	for {
		_, err := f.sessions.TakeDocumentCamera(t.Context(), f.stored(link), session.Claim{}, 59*time.Second)
		if fault.CodeOf(err) == fault.TooMany {
			break
		}
		must(t, err)
	}
	shopper.films(link) // ten seconds are left
	if s := f.stored(link); s.Status != session.StatusPassed {
		t.Errorf("%s with the last of the camera time", s.Status)
	}

	link, shopper = f.agreed()
	_, err := f.sessions.TakeDocumentCamera(t.Context(), f.stored(link), session.Claim{},
		session.MaxDocumentCamera-time.Second)
	must(t, err)
	shopper.camera(link).closes(closeReload)
	shopper.get(link).shows(t, http.StatusOK, "camera-used-up")
	shopper.get(link+"/photo").leadsTo(t, strings.TrimPrefix(link, f.server.URL))
	shopper.post(link+"/document", url.Values{"choice": {"photo"}}).shows(t, http.StatusBadRequest, "notice-refused")
}

// A phone may film the document for another browser, and is then finished.
func TestAPhoneFilmsTheDocument(t *testing.T) {
	t.Parallel()
	f := filmed(t, photo.AnotherFace)
	link, desktop := f.agreed()
	path := strings.TrimPrefix(link, f.server.URL)
	desktop.post(link+"/handover", nil).leadsTo(t, path+"/handover")
	waiting := desktop.get(link + "/handover")
	waiting.shows(t, http.StatusOK, "handover-waiting")
	if !strings.Contains(waiting.body, fmt.Sprintf(`href="%s/photo" data-testid="camera-here"`, path)) {
		t.Error("the way back does not lead to the photo page")
	}
	address := found(t, phoneAddress, waiting.body)
	phone := f.browser()
	phone.get(address).shows(t, http.StatusOK, "screen-phone")
	phone.post(address+"/start", nil)
	phone.get(address).shows(t, http.StatusOK, "screen-primer")
	phone.films(address)
	phone.get(address+"?refused=another_face").shows(t, http.StatusOK, "refused-another_face")
	phone.films(address)
	phone.films(address)
	phone.get(address).shows(t, http.StatusOK, "notice-handover_done")
	desktop.get(link).shows(t, http.StatusOK, "screen-fallback")
}

// Choosing a way again withdraws the consent to the comparison of faces: the
// camera stops at once, and the page asks again.
func TestConsentIsWithdrawn(t *testing.T) {
	t.Parallel()
	for _, choice := range []string{"photo", "wallet"} {
		for _, outcome := range []photo.Outcome{photo.Passed, photo.NotLive, photo.AnotherFace} {
			f := filmed(t, outcome)
			f.trust(testIssuer(t, 1))
			link, shopper := f.agreed()
			path := strings.TrimPrefix(link, f.server.URL)
			filming := shopper.camera(link)
			filming.read()
			filming.send(frame(scriptNonce, 0))
			filming.read()
			shopper.post(link+"/document", url.Values{"choice": {choice}}).leadsTo(t, path+"/"+choice)
			filming.closes(closeReload)
			if s := f.stored(link); s.FaceMatchAt != nil {
				t.Errorf("%s after %s: consent of %v", choice, outcome, s.FaceMatchAt)
			}
			f.expect(link, session.StatusPending, "", 0)
			shopper.get(link+"/photo").shows(t, http.StatusOK, "screen-photo")
			shopper.camera(link).closes(closeReload)
			shopper.post(link+"/handover", nil).leadsTo(t, path)
		}
	}
}

// A stream at another replica notices the withdrawal with its next frame. A
// refused document still counts, even if the shopper has agreed again; nobody
// passes.
func TestARefusalCountsWithoutConsent(t *testing.T) {
	t.Parallel()
	for outcome, attempts := range map[photo.Outcome]int{photo.Passed: 0, photo.NotLive: 0, photo.AnotherFace: 1,
		photo.UnderAge: 1} {
		f := filmed(t, outcome)
		link, shopper := f.agreed()
		filming := shopper.camera(link)
		filming.read()
		filming.send(frame(scriptNonce, 0))
		filming.read()
		_, err := f.sessions.ChooseWay(t.Context(), f.stored(link), session.WayPhoto, nil)
		must(t, err)
		filming.send(frame(scriptNonce, 1))
		filming.read()
		filming.closes(closeReload)
		if s := f.stored(link); s.Status != session.StatusPending || s.DocumentAttempts != attempts {
			t.Errorf("%s: %s after %d refusals, want %d", outcome, s.Status, s.DocumentAttempts, attempts)
		}
	}
}

// A document that was read and refused counts even if its camera time is used up.
func TestARefusalCountsWithoutCameraTime(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{DocumentCheck: true}, scripted())
	f.photos = func(session.Session, bool) document.PhotoCheck {
		return &film{steps: []photo.Step{{Stage: photo.StageFace, Outcome: photo.UnderAge}}}
	}
	f.serve(scripted())
	link, shopper := f.agreed()
	filming := shopper.camera(link)
	filming.read()
	_, err := f.sessions.TakeDocumentCamera(t.Context(), f.stored(link), session.Claim{}, session.MaxDocumentCamera)
	must(t, err)
	filming.send(frame(scriptNonce, 0))
	filming.read()
	filming.closes(closeReload)
	f.expect(link, session.StatusPending, session.WayPhoto, 1)
}

// A result for a session that has ended in another way or has expired changes
// nothing: there is at most one event and one settled unit.
func TestAPhotographThatComesTooLate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		act     func(f *fixture, link string, shopper *browser)
		status  session.Status
		settled int
	}{
		{"in time", func(*fixture, string, *browser) {}, session.StatusPassed, 1},
		{"declined", func(_ *fixture, link string, shopper *browser) {
			shopper.post(link+"/document", url.Values{"choice": {"decline"}})
		}, session.StatusFallback, 1},
		{"passed by a wallet", func(f *fixture, link string, _ *browser) {
			_, err := f.sessions.Resolve(f.t.Context(), f.stored(link), session.CheckResult{
				Result: session.ResultVerified, Source: session.SourceDocument, Way: session.WayWallet,
			})
			must(f.t, err)
		}, session.StatusPassed, 1},
		{"expired", func(f *fixture, _ string, _ *browser) { f.advance(time.Hour) }, session.StatusPending, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := filmed(t, photo.Passed)
			link, shopper := f.agreed()
			filming := shopper.camera(link)
			filming.read()
			filming.send(frame(scriptNonce, 0))
			filming.read()
			tt.act(f, link, shopper)
			filming.send(frame(scriptNonce, 1))
			filming.read()
			filming.closes(closeReload)
			if s := f.stored(link); s.Status != tt.status {
				t.Errorf("the session is %s, want %s", s.Status, tt.status)
			}
			events, err := f.db.Events(t.Context(), webhook.Filter{Scope: webhook.OfTenant(f.tenant.ID)})
			must(t, err)
			settled := 0
			for e, err := range billingtest.Ledger(t.Context(), f.db, f.tenant.ID) {
				must(t, err)
				if e.Kind == billing.EntrySettle {
					settled++
				}
			}
			if len(events) != tt.settled || settled != tt.settled {
				t.Errorf("%d events and %d units settled, want %d", len(events), settled, tt.settled)
			}
		})
	}
}
