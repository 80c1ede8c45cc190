package webhook

import (
	"net/http"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestScheduleNext(t *testing.T) {
	s := Schedule{10 * time.Second, time.Hour}
	for name, tc := range map[string]struct {
		step       int
		retryAfter time.Duration
		u          float64
		want       time.Duration
		ok         bool
	}{
		"first, earliest":          {0, 0, 0, 9 * time.Second, true},
		"first, middle":            {0, 0, 0.5, 10 * time.Second, true},
		"first, latest":            {0, 0, 1, 11 * time.Second, true},
		"second":                   {1, 0, 0.5, time.Hour, true},
		"used up":                  {2, 0, 0.5, 0, false},
		"used up, asked to return": {2, time.Minute, 0.5, 0, false},
		"asked for longer":         {0, time.Minute, 0, time.Minute, true},
		"asked for shorter":        {1, time.Second, 0.5, time.Hour, true},
		"asked for too long":       {0, 48 * time.Hour, 0, 12 * time.Hour, true},
	} {
		got, ok := s.Next(tc.step, tc.retryAfter, tc.u)
		if got != tc.want || ok != tc.ok {
			t.Errorf("%s: %s, %t; want %s, %t", name, got, ok, tc.want, tc.ok)
		}
	}
}

func TestScheduleNextProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Schedule(rapid.SliceOfN(rapid.Map(rapid.Int64Range(1, int64(48*time.Hour)),
			func(n int64) time.Duration { return time.Duration(n) }), 0, 12).Draw(t, "schedule"))
		asked := time.Duration(rapid.Int64Range(0, int64(100*time.Hour)).Draw(t, "retry after"))
		u := rapid.Float64Range(0, 0.999999).Draw(t, "u")
		attempts := 1
		for step := 0; ; step++ {
			wait, ok := s.Next(step, asked, u)
			if !ok {
				break
			}
			attempts++
			least := time.Duration(float64(s[step]) * 0.9)
			most := max(time.Duration(float64(s[step])*1.1)+1, maxRetryAfter)
			if wait < least || wait < min(asked, maxRetryAfter) || wait > most {
				t.Fatalf("step %d of %v waits %s", step, s, wait)
			}
		}
		if attempts != len(s)+1 {
			t.Fatalf("%d attempts on %v", attempts, s)
		}
	})
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		status int
		value  string
		date   string // the receiver's clock, "" for none
		want   time.Duration
	}{
		"seconds":            {429, "120", "", 2 * time.Minute},
		"unavailable":        {503, "1", "", time.Second},
		"other status":       {500, "120", "", 0},
		"none":               {429, "", "", 0},
		"date":               {503, "Thu, 01 Jan 2026 00:10:00 GMT", "", 10 * time.Minute},
		"date past":          {503, "Wed, 31 Dec 2025 00:10:00 GMT", "", 0},
		"date far":           {503, "Thu, 01 Jan 2037 00:00:00 GMT", "", 12 * time.Hour},
		"negative":           {429, "-5", "", 0},
		"too long":           {429, "86400", "", 12 * time.Hour},
		"would overflow":     {429, "9223372036854775807", "", 12 * time.Hour},
		"longer than an int": {429, "99999999999999999999", "", 0},
		"text":               {429, "soon", "", 0},
		"date, receiver's clock ahead": {503, "Thu, 01 Jan 2026 01:10:00 GMT", "Thu, 01 Jan 2026 01:00:00 GMT",
			10 * time.Minute},
		"date, receiver's clock behind": {503, "Wed, 31 Dec 2025 23:10:00 GMT", "Wed, 31 Dec 2025 23:00:00 GMT",
			10 * time.Minute},
		"date, receiver's clock broken": {503, "Thu, 01 Jan 2026 00:10:00 GMT", "yesterday", 10 * time.Minute},
	} {
		header := http.Header{}
		header.Set("Retry-After", tc.value)
		header.Set("Date", tc.date)
		if got := retryAfter(tc.status, header, now); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}
