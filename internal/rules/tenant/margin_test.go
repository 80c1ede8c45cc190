package tenant

import (
	"errors"
	"slices"
	"testing"
)

func TestMargins(t *testing.T) {
	for _, tt := range []struct {
		given  []string
		stored []string // nil: refused
		err    error
	}{
		{[]string{"18=9", " 16=3.0"}, []string{"16=3", "18=9"}, nil},
		{[]string{"60=50"}, []string{"60=50"}, nil},
		{[]string{"18=3", "18=4"}, nil, ErrMargins},
		{[]string{"18=2.9"}, nil, ErrLowMargin},
		{[]string{"12=9"}, nil, ErrMargins},
		{[]string{"61=9"}, nil, ErrMargins},
		{[]string{"18=51"}, nil, ErrMargins},
		{[]string{"18=NaN"}, nil, ErrMargins},
		{[]string{"18=-1"}, nil, ErrMargins},
		{[]string{"18"}, nil, ErrMargins},
		{[]string{"9"}, nil, ErrMargins},
		{[]string{""}, nil, ErrMargins},
	} {
		stored, err := checkMargins(tt.given, 3)
		if !slices.Equal(stored, tt.stored) || !errors.Is(err, tt.err) {
			t.Errorf("%v: %v, %v", tt.given, stored, err)
		}
	}
}

// A margin that is below the operator's least one, because that was raised later,
// counts as the least one.
func TestMarginOfATarget(t *testing.T) {
	shop := Tenant{Margins: []string{"16=3", "18=9"}}
	for _, tt := range []struct {
		target       int
		usual, least float64
		want         float64
	}{{18, 7, 3, 9}, {16, 7, 3, 3}, {16, 7, 5, 5}, {21, 7, 3, 7}} {
		if got := shop.Margin(tt.target, MarginRule{Usual: tt.usual, Least: tt.least}); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}
