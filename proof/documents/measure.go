package documents

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/jpeg"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"agegate/internal/check/document/mrz"
	"agegate/internal/check/document/mrz/mrztest"
	"agegate/internal/check/document/reader"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// Document is one rendered document with its content.
type Document struct {
	Format mrz.Format
	Ease   Ease
	Roll   float64 // degrees
	Person mrztest.Person

	content Content
	seed    uint64
}

// Rolls is the number of parts of the circle. Each format is turned into each
// part, by a random angle.
const Rolls = 8

// Set invents documents: count for each format, ease and part of the circle. In
// every beginning of the set, these are equally frequent.
func Set(seed uint64, count int, now time.Time) []Document {
	var set []Document
	for range count {
		for roll := range Rolls {
			for _, format := range mrz.Formats {
				for _, ease := range Eases {
					d := invent(format, ease, seed<<32+uint64(len(set)), now, func(share float64) float64 {
						return (float64(roll) + share) * 360 / Rolls
					})
					set = append(set, d)
				}
			}
		}
	}
	return set
}

// invent returns a document of an invented person. roll gives its rotation for a
// random share of the allowed ones, 0 to 1.
func invent(format mrz.Format, ease Ease, seed uint64, now time.Time, roll func(share float64) float64) Document {
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // repeatable on purpose
	d := Document{Format: format, Ease: ease, Roll: roll(random.Float64()), Person: mrztest.Random(random, now),
		seed: seed}
	d.content = Content{Format: format, Lines: mrztest.Zone(format, d.Person)}
	return d
}

// Frame renders the picture that a camera takes at the given moment of a
// capture.
func (r *Renderer) Frame(d Document, frame int) ([]byte, error) {
	return r.frame(d, frame, alteration{})
}

func (r *Renderer) frame(d Document, frame int, a alteration) ([]byte, error) {
	page := rand.New(rand.NewPCG(d.seed, 1))               //nolint:gosec // repeatable on purpose
	hand := rand.New(rand.NewPCG(d.seed, uint64(2+frame))) //nolint:gosec // repeatable on purpose
	return r.shot(d.content, d.Ease, d.Roll, page, hand, a)
}

// Name is a file name that begins with the birth date, as `agegate-lab document eval`
// requires.
func (d Document) Name(frame int) string {
	birth := d.Person.Birth.Latest.Format("20060102")
	return fmt.Sprintf("%s_%s_%s_%03.0f_%x_%d.jpg", birth, d.Format, d.Ease.Name, d.Roll, d.seed, frame)
}

// MaxFrames is how many frames of a document are tried.
const MaxFrames = 3

// Outcome is the result for one document.
type Outcome struct {
	Document
	Frames   int             // frames tried until one was valid; MaxFrames if none was
	Read     bool            // with the right format and dates
	Wrong    int             // valid frames with another birth or expiry date
	Misnamed int             // valid frames with the right dates, but another format
	Reads    []time.Duration // processor time of frames that were read
	Misses   []time.Duration // processor time of the other frames
}

// Play renders and reads the documents on every core until ctx ends, and returns
// the outcomes of the finished ones, in no particular order.
func Play(
	ctx context.Context, zones *reader.Reader, set []Document, now time.Time, progress func(done, total int),
) ([]Outcome, error) {
	var mu sync.Mutex
	var outcomes []Outcome
	err := spread(ctx, len(set), func(r *Renderer, i int) error {
		o, err := play(r, zones, set[i], now)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		outcomes = append(outcomes, o)
		progress(len(outcomes), len(set))
		return nil
	})
	return outcomes, err
}

// spread calls work for the numbers below count, on every core with a renderer
// of its own, until ctx ends, which is no error.
func spread(ctx context.Context, count int, work func(r *Renderer, i int) error) error {
	var next atomic.Int64
	var group errgroup.Group
	for range runtime.NumCPU() {
		group.Go(func() error {
			r, err := NewRenderer()
			if err != nil {
				return err
			}
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= count {
					break
				}
				if err := work(r, i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

func play(r *Renderer, zones *reader.Reader, d Document, now time.Time) (Outcome, error) {
	o := Outcome{Document: d}
	for !o.Read && o.Frames < MaxFrames {
		data, err := r.Frame(d, o.Frames)
		if err != nil {
			return o, err
		}
		o.Frames++
		reading, took, err := Look(zones, data, now)
		if err != nil {
			return o, err
		}
		switch {
		case !reading.Valid:
			o.Misses = append(o.Misses, took)
			continue
		case reading.BirthDate != d.Person.Birth || reading.ExpiryDate != d.Person.Expiry:
			o.Wrong++
		case reading.Format != d.Format:
			o.Misnamed++
		default:
			o.Read = true
		}
		o.Reads = append(o.Reads, took)
	}
	return o, nil
}

// Look reads a frame and returns the processor time that it took, including
// decoding.
func Look(zones *reader.Reader, frame []byte, now time.Time) (reading reader.Reading, took time.Duration, err error) {
	took = ProcessorTime(func() {
		var img image.Image
		if img, err = jpeg.Decode(bytes.NewReader(frame)); err == nil {
			reading = zones.Read(reader.Grey(img), now)
		}
	})
	return reading, took, err
}

// ProcessorTime returns the processor time of work, which must run on one
// goroutine.
func ProcessorTime(work func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := threadTime()
	work()
	return threadTime() - before
}

// threadTime is the processor time that the calling thread has used.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}

// PlayOthers renders pictures without a zone and runs the reader on them.
func PlayOthers(
	zones *reader.Reader, count int, seed uint64, now time.Time, progress func(done, total int),
) (Negatives, error) {
	n := Negatives{Kind: "rendered text, forms and barcodes"}
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(runtime.NumCPU())
	for i := range count {
		group.Go(func() error {
			data, err := Other(i, seed)
			if err != nil {
				return err
			}
			reading, took, err := Look(zones, data, now)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			n.Looked++
			if reading.Valid {
				n.Accepted++
			}
			n.Misses = append(n.Misses, took)
			progress(n.Looked, count)
			return nil
		})
	}
	return n, group.Wait()
}
