package tenant

import (
	"errors"
	"slices"
	"testing"

	"agegate/internal/rules/fault"

	"github.com/google/uuid"
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

// A change of the margin for one target age leaves those for others.
func TestTargetMargin(t *testing.T) {
	for _, tt := range []struct {
		change TargetMargin
		want   []string
	}{
		{TargetMargin{18, "11"}, []string{"16=3", "18=11"}},
		{TargetMargin{16, ""}, []string{"18=9"}},
		{TargetMargin{13, "4.5"}, []string{"13=4.5", "16=3", "18=9"}},
		{TargetMargin{21, ""}, []string{"16=3", "18=9"}},
	} {
		shop := Tenant{Margins: []string{"16=3", "18=9"}}
		if got := (Changes{Margin: &tt.change}).Apply(shop); !slices.Equal(got.Margins, tt.want) {
			t.Errorf("%+v: %v", tt.change, got.Margins)
		}
		if !slices.Equal(shop.Margins, []string{"16=3", "18=9"}) {
			t.Errorf("%+v changed the tenant that it was given: %v", tt.change, shop.Margins)
		}
	}
	service := &Service{Margin: MarginRule{Usual: 7, Least: 5}}
	for _, tt := range []struct {
		change TargetMargin
		years  string
		err    error
	}{
		{TargetMargin{18, "5.50"}, "5.5", nil}, {TargetMargin{18, ""}, "", nil}, {TargetMargin{18, "4.9"}, "", ErrLowMargin},
		{TargetMargin{12, "9"}, "", ErrMargins}, {TargetMargin{18, "x"}, "", ErrMargins},
	} {
		got, err := service.checked(t.Context(), uuid.Nil, Changes{Margin: &tt.change})
		known := (*fault.Error)(nil)
		switch {
		case tt.err != nil:
			if !errors.As(err, &known) || len(known.Fields) != 1 || known.Fields[0].Field != "margin" ||
				!errors.Is(known.Fields[0].Err, tt.err) {
				t.Errorf("%+v: %v", tt.change, err)
			}
		case err != nil || got.Margin.Years != tt.years:
			t.Errorf("%+v: %+v, %v", tt.change, got.Margin, err)
		}
	}
}
