package session

// step is what a verdict does to a pending session.
type step int

const (
	stepRefuse   step = iota // the verdict does not apply
	stepOffer                // offer the document check, stay PENDING
	stepComplete             // go to the verdict's terminal status
)

// next is the whole transition table out of PENDING, expiry apart: the
// terminal statuses have no way out.
//
//	verdict    from               document check   step
//	VERIFIED   camera             not open         PASSED
//	VERIFIED   forced, document   any              PASSED
//	SPOOF      camera             not open         SPOOF
//	SPOOF      forced             not open         SPOOF
//	FALLBACK   camera, forced     off              FALLBACK
//	FALLBACK   camera, forced     on, not open     offer
//	FALLBACK   forced, document   open             FALLBACK
//
// Once the document check is open the camera has nothing more to say: an age
// refusal gets no second estimate. The document check itself never ends as
// SPOOF.
func next(v Verdict, documentCheckOn, documentOpen bool) step {
	switch {
	case v.Source == SourceCamera && documentOpen:
		return stepRefuse
	case v.Source == SourceDocument && !documentOpen:
		return stepRefuse
	case v.Result == ResultSpoof && documentOpen:
		return stepRefuse
	case v.Result == ResultFallback && documentCheckOn && !documentOpen:
		return stepOffer
	default:
		return stepComplete
	}
}
