package webhook

import (
	"net/http"
	"strconv"
	"time"
)

// Schedule holds the waits between the attempts of one delivery: the first
// attempt is made at once, attempt n+1 waits Schedule[n-1] after attempt n.
type Schedule []time.Duration

// maxRetryAfter bounds how long a receiver can postpone a delivery.
const maxRetryAfter = 12 * time.Hour

// Next returns the wait after the failure of the attempt at the given step (0 for
// the first), varied by ±10 % by u in [0, 1). It reports false if the schedule is
// used up. A receiver's Retry-After is the minimum wait, which the variation
// never shortens; zero means that there was none.
func (s Schedule) Next(step int, retryAfter time.Duration, u float64) (time.Duration, bool) {
	if step < 0 || step >= len(s) {
		return 0, false
	}
	wait := spread(s[step], u)
	return max(wait, min(retryAfter, maxRetryAfter)), true
}

// spread returns d ±10 %, by u in [0, 1).
func spread(d time.Duration, u float64) time.Duration {
	return time.Duration(float64(d) * (0.9 + 0.2*u))
}

// retryAfter reads the Retry-After header (RFC 9110, section 10.2.3: seconds or
// an HTTP date) of a 429 or 503 answer. It returns zero for anything else and
// for a time that has passed. A date is compared with the answer's own Date
// header, or with now if there is none.
func retryAfter(status int, header http.Header, now time.Time) time.Duration {
	if status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable {
		return 0
	}
	value := header.Get("Retry-After")
	if seconds, err := strconv.ParseInt(value, 10, 64); err == nil {
		seconds = min(max(seconds, 0), int64(maxRetryAfter/time.Second))
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		now = date
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}
