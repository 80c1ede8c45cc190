package session

// step is the effect of a check result on a pending session.
type step int

const (
	stepRefuse   step = iota // the result does not apply
	stepOffer                // offer the document check and stay PENDING
	stepComplete             // change to the result's terminal status
)

// next is the complete transition table out of PENDING, except for expiry.
// Nothing leaves a terminal status.
//
//	result     source             document check   step
//	VERIFIED   camera             not open         PASSED
//	VERIFIED   forced, document   any              PASSED
//	SPOOF      camera             not open         SPOOF
//	SPOOF      forced             not open         SPOOF
//	FALLBACK   camera, forced     off              FALLBACK
//	FALLBACK   camera, forced     on, not open     offer
//	FALLBACK   forced, document   open             FALLBACK
//
// A FALLBACK because the shopper prefers a document only ever opens the document
// check: while that is off, it does not apply.
//
// Once the document check is open, camera results are refused: a shopper whose
// age was refused gets no second estimate. The document check itself never ends
// as SPOOF.
func next(v CheckResult, documentCheckOn, documentOpen bool) step {
	switch {
	case v.Source == SourceCamera && documentOpen:
		return stepRefuse
	case v.Source == SourceDocument && !documentOpen:
		return stepRefuse
	case v.Result == ResultSpoof && documentOpen:
		return stepRefuse
	case v.Preferred && !documentCheckOn:
		return stepRefuse
	case v.Result == ResultFallback && documentCheckOn && !documentOpen:
		return stepOffer
	default:
		return stepComplete
	}
}
