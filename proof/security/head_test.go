package security

import (
	"context"
	"encoding/hex"
	"image"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"agegate/internal/check/liveness"
	"agegate/internal/check/vision"
	"agegate/internal/check/vision/visiontest"
	"agegate/proof/attack/puppet"

	"github.com/coder/websocket/wsjson"
)

// steps is the number of positions of the head from level to turned.
const steps = 7

// view is a camera's picture of a head: a position on the way to a prompt's
// direction, in full size or in the small size of pictures that only guide.
type view struct {
	direction int // index in liveness.Actions; 0 when level
	step      int
	full      bool
}

// album holds pictures of one head. They are drawn in advance, because drawing
// during the checks would take processor time from the server.
type album struct {
	head *puppet.Head

	mu       sync.Mutex
	random   *rand.Rand
	camera   *puppet.Camera
	pictures map[view][][]byte
}

func newAlbum(t *testing.T) *album {
	head, _, err := puppet.Sample(t.Context(), vision.NewAnalyzer(visiontest.Pool(t)))
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(7, 7))
	return &album{head: head, random: random, camera: puppet.NewCamera(random), pictures: map[view][][]byte{}}
}

// fill draws as many pictures of each view as one check usually needs.
func (a *album) fill(t *testing.T) {
	for direction := range liveness.Actions {
		for step := range steps + 1 {
			for _, full := range []bool{false, true} {
				v, n := view{direction, step, full}, 3
				switch {
				case step == 0 && direction > 0, full && step > steps/2:
					continue
				case step == 0:
					n = 24
				case step == steps:
					n = 8
				}
				if _, err := a.picture(v, n-1); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// picture returns picture n of a view.
func (a *album) picture(v view, n int) ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.pictures[v]) <= n {
		jpeg, err := a.draw(v)
		if err != nil {
			return nil, err
		}
		a.pictures[v] = append(a.pictures[v], jpeg)
	}
	return a.pictures[v][n], nil
}

func (a *album) draw(v view) ([]byte, error) {
	zoom, part := 0.6, float64(v.step)/steps
	if v.full {
		zoom = 1
	}
	sway := func(size float64) float64 { return size * (2*a.random.Float64() - 1) }
	side, up := liveness.Actions[v.direction].Direction()
	frame := image.NewRGBA(image.Rect(0, 0, int(640*zoom), int(480*zoom)))
	a.head.Backdrop(frame)
	a.head.Draw(frame, puppet.Solid, puppet.Pose{
		Yaw: 26*part*side + sway(0.4), Pitch: 20*part*up + sway(0.4),
		X: zoom * (320 + sway(1)), Y: zoom * (240 + sway(1)), Width: zoom * 170,
	})
	a.camera.Noise, a.camera.Quality = 2.5*zoom, 80
	return a.camera.Shoot(frame)
}

// person is a person in front of a camera who does what the page asks for.
type person struct {
	album   *album
	used    map[view]int
	prompt  string
	since   time.Time // when they have read the prompt
	towards int       // the direction in which the head is turned
	part    float64   // how far it is turned, 0 to 1
	at      time.Time
}

// A person's times: from reading to moving, and for half the way from one
// direction to the next. The way leads through level here, so it takes longer
// than a straight one.
const (
	reaction = 300 * time.Millisecond
	turn     = 400 * time.Millisecond
)

// The page's times from one picture to the next: usually, and after a new prompt.
const (
	gap       = 170 * time.Millisecond
	promptGap = 280 * time.Millisecond
)

// reads shows the person a prompt and returns how long the page waits before the
// next picture.
func (p *person) reads(prompt string, now time.Time) time.Duration {
	if prompt == p.prompt {
		return gap
	}
	first := p.prompt == ""
	p.prompt, p.since = prompt, now
	if first {
		return gap
	}
	return promptGap
}

// look returns the next picture of the person.
func (p *person) look(full bool, now time.Time) ([]byte, error) {
	moving := min(now.Sub(p.at), now.Sub(p.since)-reaction)
	moved := float64(moving) / float64(turn)
	p.at = now
	if wanted := slices.Index(liveness.Actions, liveness.Prompt(p.prompt)); moving > 0 {
		if p.towards != wanted || wanted < 0 { // the head returns to level first
			back := min(moved, p.part)
			p.part, moved = p.part-back, moved-back
			if p.part == 0 {
				p.towards = wanted
			}
		}
		if wanted >= 0 && p.towards == wanted {
			p.part = min(1, p.part+moved)
		}
	}
	v := view{direction: max(p.towards, 0), step: int(math.Round(p.part * steps)), full: full}
	if v.step == 0 {
		v.direction = 0
	}
	if v.step > steps/2 {
		v.full = false // a frame of the moving head does not count
	}
	p.used[v]++
	return p.album.picture(v, p.used[v]-1)
}

// course records how the checks of one session went.
type course struct {
	took     time.Duration // from the first connection to the result
	frames   int
	bytes    int
	verdicts int   // challenges that ended with a verdict
	dropped  int   // challenges that ended otherwise
	places   []int // reported places in line
}

// check performs camera checks of a session, like the page, until one leads on,
// and returns how they went.
func (a *album) check(ctx context.Context, o owned, ended func() bool) (c course, err error) {
	start := time.Now()
	for {
		begun, next, err := a.once(ctx, o, &c)
		if ctx.Err() != nil {
			return c, ctx.Err()
		}
		switch {
		case begun && next != "":
			c.verdicts++
		case begun:
			c.dropped++
		}
		if next != "" && ended() {
			c.took = time.Since(start)
			return c, nil
		}
		if next == "" && err != nil {
			select {
			case <-time.After(3 * time.Second): // like the page when it is asked to wait
			case <-ctx.Done():
			}
		}
	}
}

// once uses one connection. It returns whether the challenge had begun, and what
// the server sent at the end, if anything.
func (a *album) once(ctx context.Context, o owned, c *course) (begun bool, next string, err error) {
	s, err := o.open(ctx)
	if err != nil {
		return false, "", err
	}
	defer func() { _ = s.conn.CloseNow() }()
	p := person{album: a, used: map[view]int{}}
	var last struct {
		Place, Credit int
		Nonce, Next   string
		Phase, Prompt string
		Full          bool
	}
	for {
		last.Place, last.Nonce, last.Next = 0, "", ""
		if err := wsjson.Read(ctx, s.conn, &last); err != nil {
			return begun, "", err
		}
		switch {
		case last.Place > 0:
			if n := len(c.places); n == 0 || c.places[n-1] != last.Place {
				c.places = append(c.places, last.Place)
			}
			continue
		case last.Next != "":
			return begun, last.Next, nil
		case last.Nonce != "":
			if s.nonce, err = hex.DecodeString(last.Nonce); err != nil {
				return false, "", err
			}
		}
		begun = begun || last.Phase == "challenge"
		wait := p.reads(last.Prompt, time.Now())
		select {
		case <-time.After(time.Until(p.at.Add(wait))):
		case <-ctx.Done():
			return begun, "", ctx.Err()
		}
		jpeg, err := p.look(last.Full, time.Now())
		if err != nil {
			return begun, "", err
		}
		c.frames++
		c.bytes += len(jpeg)
		if err := s.send(ctx, jpeg); err != nil {
			return begun, "", err
		}
	}
}
