package dashboard

import (
	"cmp"
	"slices"
	"strings"

	"agegate/internal/backoffice/insight"
	"agegate/internal/pages/page"
	"agegate/internal/rules/session"
	"agegate/internal/rules/webhook"
)

var cameraEnds = []insight.CameraEnd{
	insight.CameraReached, insight.CameraBelow, insight.CameraUsedUp, insight.CameraSkipped, insight.CameraPreferred,
	insight.CameraSpoof, insight.CameraForced,
}

// noteKeys are the parts of keys about a session's notes.
var noteKeys = slices.Concat([]string{session.NoteFaceless},
	page.Keys(session.NoteBrowser+"_", session.Troubles...),
	page.Keys(session.NoteDocument+"_", "expired", "revoked", "under_age", "undated", "another_face"),
)

// unproved are the ends of a document check without a proof.
var unproved = []insight.DocumentEnd{insight.DocumentRefused, insight.DocumentUnproved, insight.DocumentUnlive,
	insight.DocumentDeclined}

// storyKeys are the texts of stories with composed keys.
func storyKeys() []string {
	return slices.Concat(
		page.Keys("story.camera_", cameraEnds...),
		page.Keys("story.forced_", session.StatusPassed, session.StatusFallback, session.StatusSpoof, session.StatusExpired),
		page.Keys("story.document_", unproved...),
		page.Keys("story.proved_", session.WayWallet, session.WayPhoto),
		page.Keys("story.untold_", webhook.StatusPending, webhook.StatusFailed, webhook.StatusWaiting),
		page.Keys("story.guide_", append(slices.Clip(parts), "camera", "document")...),
		page.Keys("story.setback_", noteKeys...), page.Keys("timeline.setback_", noteKeys...),
	)
}

// storyView is what happened in a session, in sentences for support staff.
type storyView struct {
	insight.Story
	targetAge        int
	untold, disabled bool // the shop was not told; its tenant is disabled
}

// cameraText returns the text for how a camera check ended, with what an estimate
// had to reach: the target age and the margin, such as 18 + 7.
func (v storyView) cameraText() page.Text {
	margin := *cmp.Or(v.Cutoff, new(float64)) - float64(v.targetAge)
	return page.Say("story.camera_"+string(v.Camera), "target", v.targetAge, "margin", margin)
}

// Sentences describe what happened: first the camera's decision, then the document.
func (v storyView) Sentences() []page.Text {
	var said []page.Text
	if v.Camera != "" {
		said = append(said, v.cameraText())
	}
	switch {
	case v.Forced:
		said = append(said, page.Say("story.forced_"+string(v.Status)))
	case v.Test && v.Camera == "":
		said = append(said, page.Say("story.receiver"))
	case v.Document == insight.DocumentProved:
		said = append(said, page.Say("story.proved_"+string(v.Way)))
	case v.Document != "":
		said = append(said, page.Say("story.document_"+string(v.Document)))
	case v.Status == session.StatusExpired:
		expired, _ := v.stage()
		said = append(said, page.Say(expired))
	case v.Status == session.StatusPending:
		_, open := v.stage()
		said = append(said, page.Say(open))
	}
	if v.Why != "" {
		said = append(said, page.Say("story.setback_"+v.Why))
	}
	return said
}

// stage returns the keys for how far an unfinished session got: for an expired one, and for an open one.
func (v storyView) stage() (expired, open string) {
	switch {
	case v.Offered:
		return "story.expired_document", "story.open_document"
	case v.Begun:
		return "story.expired_camera", "story.open_camera"
	case v.Opened:
		return "story.expired_opened", "story.open_opened"
	}
	return "story.expired_unopened", "story.open_unopened"
}

// Guide is the key of the address of what support's guide says about such a session.
func (v storyView) Guide() string {
	switch why, _, _ := strings.Cut(v.Why, "_"); why {
	case session.NoteDocument:
		return "story.guide_document"
	case session.NoteBrowser, "camera": // NoteFaceless
		return "story.guide_camera"
	}
	return "story.guide_" + string(v.Status)
}
