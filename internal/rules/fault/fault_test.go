package fault_test

import (
	"errors"
	"fmt"
	"testing"

	"agegate/internal/rules/fault"
)

func TestFaultsAreComparedByIdentityAndBranchedOnByCode(t *testing.T) {
	late := fault.New(fault.Gone, "Session is no longer open")
	used := fault.New(fault.Gone, "This code was used or is too old")
	wrapped := fmt.Errorf("apply the verdict: %w", late)
	if !errors.Is(late, late) || !errors.Is(wrapped, late) {
		t.Error("a fault is not itself")
	}
	if errors.Is(used, late) || errors.Is(late, fault.New(fault.Gone, late.Message)) {
		t.Error("two faults are one because their codes are the same")
	}
	outer := fault.Wrap(late, fault.Unavailable, "Try again")
	for _, tt := range []struct {
		err  error
		want fault.Code
	}{
		{late, fault.Gone}, {wrapped, fault.Gone}, {outer, fault.Unavailable},
		{errors.Join(errors.New("other"), used), fault.Gone}, {errors.New("other"), ""}, {nil, ""},
	} {
		if got := fault.CodeOf(tt.err); got != tt.want {
			t.Errorf("CodeOf(%v) = %q, want %q", tt.err, got, tt.want)
		}
	}
	if !errors.Is(outer, late) {
		t.Error("a fault hides its cause")
	}
}
