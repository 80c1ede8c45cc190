package security

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/proof/table"
)

// The numbers of scans in hostile logos: the most that fit into a file, which
// took 21 seconds, and the most that are allowed.
const (
	tooManyScans = 12_000
	allowedScans = 32
)

// A member of a tenant uploads logos with more scans than any program writes, and
// then many of the most expensive allowed ones at the same time, while a member
// of another tenant uploads honest ones.
func TestLogosOfManyScans(t *testing.T) {
	hostile, costly := scanned(tooManyScans), scanned(allowedScans)
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewNRGBA(image.Rect(0, 0, 40, 10))); err != nil {
		t.Fatal(err)
	}
	onEach(t, "Logos of many scans", func(t *testing.T, g *gatewaytest.Gateway, r *table.Row) {
		tries, attempts, burst := table.Sized(20, 4), table.Sized(40, 4), table.Sized(40, 6)
		mallory, shop := brandOwner(t, g)
		ada, other := brandOwner(t, g)
		upload := func(member *gatewaytest.Staff, path string, logo []byte) int {
			form := url.Values{"brand_name": {"Shop"}, "ways": {"all"}, "target": {"18"}, "languages": {"en"}, "default": {"en"}}
			res, _ := member.Upload(t, path, form, "brand_logo", logo)
			return res.StatusCode
		}
		honest := func() error {
			if status := upload(ada, other, picture.Bytes()); status != http.StatusSeeOther {
				return fmt.Errorf("%d %s", status, http.StatusText(status))
			}
			return nil
		}
		var taken []string
		var mu sync.Mutex
		attack := func(int) {
			if status := upload(mallory, shop, hostile); status != http.StatusUnprocessableEntity {
				mu.Lock()
				defer mu.Unlock()
				taken = append(taken, http.StatusText(status))
			}
		}
		costs(r, "processor time of an upload", tries, attack)
		posted := besideAttack(t, r, attempts, attack, honest)
		r.None("uploads that were not refused", taken)

		var members sync.WaitGroup
		var read atomic.Int64
		for range burst {
			members.Go(func() {
				if upload(mallory, shop, costly) == http.StatusSeeOther {
					read.Add(1)
				}
			})
		}
		ended := make(chan struct{})
		go func() { defer close(ended); members.Wait() }()
		var wrong []string
		made := 0
		for open := true; open; made++ {
			if err := honest(); err != nil {
				wrong = append(wrong, err.Error())
			}
			select {
			case <-ended:
				open = false
			default:
			}
		}
		// A busy machine may have turned all of them away: one that comes alone is read.
		for end := time.Now().Add(table.HangLimit); read.Load() == 0 && time.Now().Before(end); {
			if upload(mallory, shop, costly) == http.StatusSeeOther {
				read.Add(1)
			}
		}
		r.Didf("%d logos of %d scans, %d beside %d honest ones, and %d of %d scans at once beside %d",
			tries, tooManyScans, posted, attempts, burst, allowedScans, made)
		r.Mark("of the costliest, read", "> 0", fmt.Sprint(read.Load()), read.Load() > 0)
		r.NoneButBusy("honest logos refused beside them", wrong)
	})
}

// brandOwner returns an owner of a new tenant, and the path to which its logo is
// uploaded.
func brandOwner(t *testing.T, g *gatewaytest.Gateway) (owner *gatewaytest.Staff, path string) {
	t.Helper()
	id := g.Shop(t, "", nil).Tenant.ID
	owner = g.SignIn(t, false, account.ByPasskey)
	g.Join(t, owner, id, account.Owner)
	return owner, "/dashboard/" + id.String() + "/settings"
}

// scanned returns a grey progressive JPEG of 2,000 by 2,000 pixels with the given
// number of scans. Each scan of 21 bytes says that nothing changes.
func scanned(scans int) []byte {
	b := bytes.NewBuffer([]byte{0xff, 0xd8, 0xff, 0xdb, 0, 67, 0}) // quantization table 0
	b.Write(bytes.Repeat([]byte{1}, 64))
	// progressive frame
	b.Write([]byte{0xff, 0xc2, 0, 11, 8, 2000 >> 8, 2000 & 0xff, 2000 >> 8, 2000 & 0xff, 1, 1, 0x11, 0})
	b.Write([]byte{0xff, 0xc4, 0, 20, 0x10, 1}) // a code that means: end of 16,384 blocks
	b.Write(make([]byte, 15))
	b.WriteByte(0xe0)
	for range scans {
		b.Write([]byte{0xff, 0xda, 0, 8, 1, 1, 0, 1, 63, 0})
		b.Write(make([]byte, 11))
	}
	b.Write([]byte{0xff, 0xd9})
	return b.Bytes()
}
