package mrz_test

import (
	"testing"

	"agegate/internal/check/document/mrz"
)

// TestWholeDates: a date stays only with all its characters and a check digit that
// holds; other fields stay as they are.
func TestWholeDates(t *testing.T) {
	const first = "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<"
	for _, row := range []struct{ name, line, want string }{
		{"both whole", "L898902C36UTO7408122F1204159ZE184226B<<<<<10", "L898902C36UTO7408122F1204159ZE184226B<<<<<10"},
		{"a part of the birth date", "L898902C36UTO74?8122F1204159ZE184226B<<<<<10",
			"L898902C36UTO???????F1204159ZE184226B<<<<<10"},
		{"no check digit of the birth date", "L898902C36UTO740812?F1204159ZE184226B<<<<<10",
			"L898902C36UTO???????F1204159ZE184226B<<<<<10"},
		{"a birth date that is misread", "L898902C36UTO7408132F1204159ZE184226B<<<<<10",
			"L898902C36UTO???????F1204159ZE184226B<<<<<10"},
		{"a part of the expiry date", "L898902C36UTO7408122F12041?9ZE184226B<<<<<10",
			"L898902C36UTO7408122F???????ZE184226B<<<<<10"},
		{"neither", "?????????????????122F12?4159ZE184226B<<<<<10", "????????????????????F???????ZE184226B<<<<<10"},
	} {
		lines := []string{first, row.line}
		got := mrz.TD3.WholeDates(lines, '?')
		if got[0] != first || got[1] != row.want || lines[1] != row.line {
			t.Errorf("%s: %q", row.name, got[1])
		}
	}
}

// TestNeeded: the age check needs the first letter, the state, and what the
// composite check digit covers; of these, 14 characters are dates with their check
// digits.
func TestNeeded(t *testing.T) {
	for _, row := range []struct {
		format        mrz.Format
		needed, dates int
	}{
		{mrz.TD1, 1 + 3 + 25 + 7 + 7 + 11 + 1, 14},
		{mrz.TD2, 1 + 3 + 10 + 7 + 14 + 1, 14},
		{mrz.TD3, 1 + 3 + 10 + 7 + 22 + 1, 14},
		{mrz.MRVA, 0, 14},
		{mrz.MRVB, 0, 14},
	} {
		needed, dates := 0, 0
		for l := range row.format.Lines() {
			for i := range row.format.Length() {
				if row.format.Needed(l, i) {
					needed++
				}
				if row.format.InDate(l, i) {
					dates++
				}
			}
		}
		if needed != row.needed || dates != row.dates {
			t.Errorf("%v: %d needed, %d in dates; want %d and %d", row.format, needed, dates, row.needed, row.dates)
		}
	}
}
