package shopper

import (
	"agegate/internal/check/age"
	"agegate/internal/check/document/photo"
	"agegate/internal/check/liveness"
	"agegate/internal/check/vision"
)

// queued is sent while the check waits for a place. No frame is accepted yet, and the check's time does not run.
type queued struct {
	Place int `json:"place"` // in line, from 1
}

// hello begins the check. It has the bytes with which every frame must begin.
type hello struct {
	Nonce  string `json:"nonce"` // 32 hex digits
	Credit int    `json:"credit"`
}

// guidance answers one frame. It never contains a verdict, an age or a score.
type guidance struct {
	Seq       uint32          `json:"seq"`
	Stage     photo.Stage     `json:"stage,omitempty"` // what to film; empty in a camera check
	Guidance  vision.Guidance `json:"guidance"`
	Phase     age.Phase       `json:"phase"`
	Prompt    liveness.Prompt `json:"prompt"`
	Hint      liveness.Hint   `json:"hint"` // shown with the prompt
	Done      int             `json:"done"`
	Total     int             `json:"total"`
	Progress  float64         `json:"progress"`        // of the present prompt, 0 to 1
	Remaining int64           `json:"remaining"`       // milliseconds until the prompt lapses; 0 if there is no time limit
	More      bool            `json:"more"`            // the message moreTime would succeed
	Full      bool            `json:"full"`            // the next frame should have the full size, others need not
	Credit    int             `json:"credit"`          // frames that the page may have unanswered
	Again     string          `json:"again,omitempty"` // why the face beside a document is asked for again
}

// moreTime is the only text message of a page: the shopper asks for more time for the current prompt. It has no answer
// of its own; the next guidance has the time.
const moreTime = "more_time"

// onwardMessage is the last message of a check that has ended by itself. It does not contain the verdict.
type onwardMessage struct {
	Next string `json:"next"` // "reload"; "retry": nothing had begun, the page offers the camera again
	// Refused is why a document was refused (a photo.Outcome), while another may be tried.
	Refused string `json:"refused,omitempty"`
}
