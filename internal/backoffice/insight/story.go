package insight

import (
	"slices"
	"strings"
	"time"

	"agegate/internal/rules/session"
)

// CameraEnd says how a session's camera check ended. It never contains the
// estimate, only whether it reached the cutoff.
type CameraEnd string

// The ends of a camera check. A session has none of them until its camera check
// has ended, or if a forced result replaced it.
const (
	CameraReached   CameraEnd = "reached"   // the estimate reached the cutoff
	CameraBelow     CameraEnd = "below"     // the estimate was below the cutoff
	CameraUsedUp    CameraEnd = "used_up"   // no estimate: every attempt was used
	CameraSkipped   CameraEnd = "skipped"   // no estimate: the shopper went on without the camera
	CameraSpoof     CameraEnd = "spoof"     // no living person was seen
	CameraPreferred CameraEnd = "preferred" // none: by the shopper's choice, or the tenant takes documents only
	CameraForced    CameraEnd = "forced"    // a test forced a fallback, after which a document is asked for
)

// Story says what has happened in a session so far, split into the parts from which a sentence about it is built.
type Story struct {
	Status   session.Status // effective
	Forced   bool           // the result was forced
	Test     bool           // no shopper waits: the result was forced, or the session is a test of the receiver
	Opened   bool           // the link was opened
	Begun    bool           // the camera check began
	Camera   CameraEnd      // empty without an end
	Offered  bool           // a document was asked for
	Document DocumentEnd    // empty without an end
	Way      session.Way    // in which the last document was shown, read or not; empty if none was
	Cutoff   *float64       // years the estimate had to reach; nil when none was compared
	Why      string         // the latest setback or note that explains where the session is; or empty
	Refused  string         // why the last document was; empty if none was
	Refusals int            // documents refused so far
	Strikes  int            // failed liveness checks
	Other    bool           // the check is open, and the latest is that another browser opened its link
	Joined   bool           // the check is open, and goes on on another device
	Troubled bool           // a browser said that a camera gave no pictures
	Wallet   string         // "silent": asked last; "answered": its proof waits for the page, "returns": for it; or empty
}

// Trouble is the one of session.Troubles that explains where the session is, or empty.
func (s Story) Trouble() string {
	if word, ok := strings.CutPrefix(s.Why, session.NoteBrowser+"_"); ok {
		return word
	}
	return ""
}

// StoryOf returns the story of a session at a time.
func StoryOf(s session.Session, now time.Time) Story {
	story := Story{
		Status: s.StatusAt(now), Forced: s.Source == session.SourceForced, Opened: s.OpenedAt != nil, Begun: s.BegunAt != nil,
		Camera: cameraEnd(s), Offered: s.DocumentOpenedAt != nil, Document: documentEnd(s), Cutoff: s.Basis.Cutoff,
		Way: s.Shown(), Why: whyOf(s), Refused: s.Last(session.NoteDocument),
		Refusals: s.DocumentAttempts, Strikes: s.Strikes, Troubled: s.Last(session.NoteBrowser) != "",
	}
	if n := len(s.Setbacks); n > 0 && story.Status == session.StatusPending {
		last := s.Setbacks[n-1]
		story.Other = last.Why == session.NoteOther && after(last.At, s.BegunAt) && after(last.At, s.DocumentOpenedAt)
	}
	story.Test = story.Forced || story.Camera == CameraForced || s.Source == session.SourceReceiver
	return story
}

// Explained are the setbacks of a face of which the hosted page says what to do.
var Explained = []string{session.WhyAstray, session.WhyUnmoved, session.WhyHasty, session.WhyDrawn}

// said are the keys of the texts of the hosted page about setbacks and kinds of notes, with * for a note's word.
var said = map[string]string{session.NoteBrowser: "trouble.*.body", session.NoteWallet: "wallet.refused.*",
	session.NoteDocument: "document.refused.*", session.WhyDoubtful: "document.refused.doubtful"}

// Said returns the key of what the hosted page says of a setback or a note, and of what helps.
func Said(why string) string {
	kind, word, _ := session.Setback{Why: why}.Note()
	if key, ok := said[kind]; ok {
		return strings.Replace(key, "*", word, 1)
	}
	return "camera." + why
}

// whyOf returns the latest setback or note of a session, unless something else came after it.
func whyOf(s session.Session) string {
	var last session.Setback // or note, but session.NoteOther
	for _, back := range s.Setbacks {
		if back.Why != session.NoteOther {
			last = meant(s, back)
		}
	}
	kind, _, note := last.Note()
	explains := kind == session.NoteBrowser && s.Basis.Cutoff == nil // also why a document was asked for
	since := func(at *time.Time) bool { return after(last.At, at) }
	switch {
	case !since(s.DocumentOpenedAt) && !explains, s.Status == session.StatusPassed, s.Status == session.StatusSpoof,
		s.DocumentOpenedAt != nil && last.Why == session.NoteFaceless, // its stream ends after the step to the document
		note && (!since(s.BegunAt) || s.Source == session.SourceCamera && s.Basis.Cutoff != nil),
		!note && s.Source != "" && last.Why != session.WhyDoubtful &&
			(s.Source != session.SourceCamera || s.Basis.Cutoff != nil):
		if refused := s.Last(session.NoteDocument); refused != "" {
			return session.NoteDocument + "_" + refused
		}
		return ""
	}
	return last.Why
}

// after reports whether t is after a time, if there is one.
func after(t time.Time, at *time.Time) bool { return at == nil || t.After(*at) }

// meant is a setback as staff read it: before the first attempt, the time was up with no face to begin it.
func meant(s session.Session, back session.Setback) session.Setback {
	if back.Why == session.WhyAgain && (s.BegunAt == nil || back.At.Before(*s.BegunAt)) {
		back.Why = session.NoteFaceless
	}
	return back
}

// cameraEnd returns how a session's camera check ended.
func cameraEnd(s session.Session) CameraEnd {
	ended := s.DocumentOpenedAt != nil || s.Source == session.SourceCamera
	switch {
	case !ended || s.BegunAt == nil && s.Source == session.SourceForced:
		return ""
	case slices.ContainsFunc(s.Setbacks, func(b session.Setback) bool { return b.Why == session.NoteForced }):
		return CameraForced
	case s.DocumentPreferred:
		return CameraPreferred
	case s.Status == session.StatusSpoof:
		return CameraSpoof
	case s.Basis.Cutoff != nil && s.Status == session.StatusPassed && s.DocumentOpenedAt == nil:
		return CameraReached
	case s.Basis.Cutoff != nil:
		return CameraBelow
	case s.Attempts >= session.MaxAttempts:
		return CameraUsedUp
	}
	return CameraSkipped
}
