package age_test

import (
	"testing"

	"agegate/internal/check/age"
	"agegate/internal/check/photographic"
)

// TestDrawnFaces: a check whose faces the gate refuses ends without a result, and
// neither as a spoof nor with an estimate.
func TestDrawnFaces(t *testing.T) {
	for _, row := range []struct {
		name string
		gate *photographic.Gate
		want age.Verdict
	}{
		{"no gate", nil, age.VerdictMet},
		{"photographed", &photographic.Gate{Threshold: 0}, age.VerdictMet},
		{"drawn", &photographic.Gate{Threshold: -1}, age.VerdictNoCapture},
	} {
		p := honest(plain, 40)
		p.gate = row.gate
		steps := p.play(t)
		last := steps[len(steps)-1]
		drawn := row.want == age.VerdictNoCapture
		if last.Verdict != row.want || (last.Why == age.ReasonDrawn) != drawn || (last.Age > 0) == drawn ||
			(last.Faces == nil) != drawn {
			t.Errorf("%s: verdict %q, %q, age %v", row.name, last.Verdict, last.Why, last.Age)
		}
	}
}
