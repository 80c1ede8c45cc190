package storetest

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agegate/internal/backoffice/certificate"
)

// TestOneOrders: of replicas that claim the orders at the same time, one gets them,
// until it has ended or its time is over.
func TestOneOrders(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		claims := func(now time.Time) int {
			var won atomic.Int32
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					mine, err := s.ClaimOrders(t.Context(), now, now.Add(time.Minute))
					if err != nil {
						t.Error(err)
					}
					if mine {
						won.Add(1)
					}
				})
			}
			all.Wait()
			return int(won.Load())
		}
		if n := claims(start); n != 1 {
			t.Errorf("%d replicas may order", n)
		}
		if n := claims(start.Add(59 * time.Second)); n != 0 {
			t.Errorf("%d more may order", n)
		}
		if n := claims(start.Add(time.Minute)); n != 1 {
			t.Errorf("%d may order after the first one's time", n)
		}
		wantNoError(t, s.SaveCertificate(t.Context(), certificate.Certificate{Name: certificate.Account, Sealed: []byte{1},
			DueAt: start.Add(61 * time.Second)}))
		if n := claims(start.Add(61 * time.Second)); n != 1 {
			t.Errorf("%d may order after one ended", n)
		}
	})
}

func TestCertificatesAndChallenges(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		end := start.Add(time.Hour).Truncate(time.Microsecond)
		c := certificate.Certificate{Name: "age.example.com", Failures: 2, Failure: "why", DueAt: start}
		wantNoError(t, s.SaveCertificate(t.Context(), c))
		c = certificate.Certificate{Name: c.Name, Sealed: []byte{1, 2}, NotAfter: &end, DueAt: end}
		wantNoError(t, s.SaveCertificate(t.Context(), c))
		got, err := s.Certificates(t.Context())
		if err != nil || len(got) != 1 || string(got[0].Sealed) != "\x01\x02" || !got[0].NotAfter.Equal(end) ||
			!got[0].DueAt.Equal(end) || got[0].Failures != 0 || got[0].Failure != "" {
			t.Errorf("%+v, %v", got, err)
		}
		for i, token := range []string{"a", "b", "b"} {
			wantNoError(t, s.SaveChallenge(t.Context(), certificate.Challenge{Token: token, Answer: token + "x",
				EndsAt: start.Add(time.Duration(i+1) * time.Minute)}, start.Add(time.Duration(i)*time.Minute)))
		}
		answers, err := s.Challenges(t.Context(), start)
		if err != nil || len(answers) != 1 || answers[0].Answer != "bx" {
			t.Errorf("%+v, %v", answers, err)
		}
		if answers, err = s.Challenges(t.Context(), start.Add(3*time.Minute)); err != nil || len(answers) != 0 {
			t.Errorf("%+v, %v", answers, err)
		}
	})
}
