package dashboard

import (
	"cmp"
	"slices"
	"time"

	"agegate/internal/backoffice/insight"
	"agegate/internal/pages/page"
	"agegate/internal/rules/session"
	"agegate/internal/rules/webhook"
)

var cameraEnds = []insight.CameraEnd{
	insight.CameraReached, insight.CameraBelow, insight.CameraUsedUp, insight.CameraSkipped, insight.CameraPreferred,
	insight.CameraSpoof, insight.CameraForced,
}

// unproved are the ends of a document check without a proof.
var unproved = []insight.DocumentEnd{insight.DocumentRefused, insight.DocumentUnproved, insight.DocumentUnlive,
	insight.DocumentDeclined}

// storyKeys are the texts of stories with composed keys.
func storyKeys() []string {
	return slices.Concat(
		page.Keys("story.camera_", cameraEnds...),
		page.Keys("story.forced_", session.StatusPassed, session.StatusFallback, session.StatusSpoof, session.StatusExpired),
		page.Keys("story.document_", unproved...), page.Keys("story.wallet_", "silent", "returns", "answered"),
		page.Keys("story.expired_", stages...), page.Keys("story.open_", stages...),
		page.Keys("story.proved_", session.WayWallet, session.WayPhoto),
		page.Keys("story.untold_", webhook.StatusPending, webhook.StatusFailed, webhook.StatusWaiting),
		page.Keys("story.guide_", append(slices.Clip(parts), "camera", "document", "step", "moves")...),
	)
}

// storyView is what happened in a session, in sentences for support staff.
type storyView struct {
	insight.Story
	targetAge        int
	untold, disabled bool // no webhook told the shop; its tenant is disabled
	prefers          bool // a new check lets shoppers choose a document
	until            time.Time
}

// Sentences describe what happened: first the camera's decision, then the document.
func (v storyView) Sentences() []page.Text {
	var said []page.Text
	if v.Camera != "" {
		margin := *cmp.Or(v.Cutoff, new(float64)) - float64(v.targetAge)
		said = append(said, page.Say("story.camera_"+string(v.Camera), "target", v.targetAge, "margin", margin))
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
		said = append(said, page.Say("story.expired_"+v.stage()))
	case v.Status == session.StatusPending:
		said = append(said, page.Say("story.open_"+v.stage()))
	}
	also := []bool{v.Why != "", v.Wallet != "", v.Other, v.Joined}
	for i, key := range []string{"setback_" + v.Why, "wallet_" + v.Wallet, "setback_" + session.NoteOther, "joined"} {
		if also[i] {
			said = append(said, page.Say("story."+key))
		}
	}
	return said
}

var stages = []string{"document", "camera", "opened", "unopened"}

// stage is the one of stages that says how far an unfinished session got.
func (v storyView) stage() string {
	return stages[slices.Index([]bool{v.Offered, v.Begun, v.Opened, true}, true)]
}

// Guide is the key of the address of what support's guide says about such a session.
func (v storyView) Guide() string {
	about, _, _ := session.Setback{Why: v.Why}.Note()
	switch key := v.real().replyKey(); {
	case key == "disabled":
		return "story.guide_EXPIRED"
	case key == "under_age", about == session.NoteDocument, about == session.NoteWallet, about == session.WhyDoubtful:
		return "story.guide_document"
	case about == session.NoteBrowser, about == "camera": // NoteFaceless
		return "story.guide_camera"
	case slices.Contains(insight.Explained, about):
		return "story.guide_moves"
	case about == session.NotePhoto, key == "open_document", key == "wallet_answered", key == "expired" && v.Wallet != "":
		return "story.guide_step"
	case v.Status == session.StatusExpired && v.Camera == insight.CameraBelow:
		return "story.guide_FALLBACK"
	}
	return "story.guide_" + string(v.Status)
}
