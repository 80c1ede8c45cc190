package documents

import (
	"bytes"
	"flag"
	"image"
	"image/draw"
	"image/jpeg"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agegate/internal/check/document/mrz"
	"agegate/internal/check/document/reader"
	"agegate/internal/check/vision/visiontest"
)

var update = flag.Bool("update", false, "write the specimens that other packages' tests read")

// specimens are the examples of ICAO Doc 9303.
var specimens = []Content{
	{Format: mrz.TD1, Lines: []string{"I<UTOD231458907<<<<<<<<<<<<<<<", "7408122F1204159UTO<<<<<<<<<<<6",
		"ERIKSSON<<ANNA<MARIA<<<<<<<<<<"}},
	{Format: mrz.TD2, Lines: []string{"I<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<", "D231458907UTO7408122F1204159<<<<<<<6"}},
	{Format: mrz.TD3, Lines: []string{"P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<",
		"L898902C36UTO7408122F1204159ZE184226B<<<<<10"}},
	{Format: mrz.MRVA, Lines: []string{"V<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<",
		"L8988901C4XXX4009078F96121096ZE184226B<<<<<<"}},
	{Format: mrz.MRVB, Lines: []string{"V<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<", "L8988901C4XXX4009078F9612109<<<<<<<<"}},
}

// TestSpecimens: the pictures next to the reader's tests are the ones rendered
// here. With -update it renders them again: frames of the ease Medium, cut around
// the zone to keep them small.
func TestSpecimens(t *testing.T) {
	dir := filepath.Join(visiontest.Root(), "internal", "check", "document", "reader", "testdata")
	if !*update {
		for _, c := range specimens {
			if _, err := os.Stat(filepath.Join(dir, specimenName(c))); err != nil {
				t.Error(err, "(render it with -update)")
			}
		}
		return
	}
	r, err := NewRenderer()
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range specimens {
		random := rand.New(rand.NewPCG(9303, uint64(i)))
		data, err := r.Shot(c, Medium, float64(40*i), random, random)
		if err != nil {
			t.Fatal(err)
		}
		img, err := jpeg.Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		zones, err := reader.New()
		if err != nil {
			t.Fatal(err)
		}
		reading := zones.Read(reader.Grey(img), time.Now())
		if !reading.Valid {
			t.Fatalf("%v: %v", c.Format, reading.Reasons)
		}
		box := image.Rect(int(reading.Corners[0].X), int(reading.Corners[0].Y), int(reading.Corners[0].X),
			int(reading.Corners[0].Y))
		for _, p := range reading.Corners {
			box = box.Union(image.Rect(int(p.X), int(p.Y), int(p.X)+1, int(p.Y)+1))
		}
		box = box.Inset(-30).Intersect(img.Bounds())
		cut := image.NewGray(image.Rectangle{Max: box.Size()})
		draw.Draw(cut, cut.Rect, img, box.Min, draw.Src)
		var out bytes.Buffer
		if err := jpeg.Encode(&out, cut, &jpeg.Options{Quality: 75}); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, specimenName(c)), out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func specimenName(c Content) string {
	return strings.ToLower(strings.ReplaceAll(c.Format.String(), "-", "")) + ".jpg"
}

// TestDocuments reads one document of each format in the eases Easy and Medium,
// and looks at a few pictures without a zone. `make documents` reads many more.
func TestDocuments(t *testing.T) {
	zones, err := reader.New()
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var set []Document
	for _, d := range Set(11, 1, now) {
		// Each format once in each ease, each time with another rotation.
		if part := int(d.Roll) * Rolls / 360; d.Ease.Name != Hard.Name && part == (3*int(d.Format)+len(d.Ease.Name))%Rolls {
			set = append(set, d)
		}
	}
	outcomes, err := Play(t.Context(), zones, set, now, func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	if len(outcomes) != 2*len(mrz.Formats) {
		t.Fatalf("%d documents", len(outcomes))
	}
	unread := 0
	for _, o := range outcomes {
		if o.Wrong+o.Misnamed > 0 {
			t.Errorf("%s: another date was read", o.Name(0))
		}
		if !o.Read {
			t.Logf("%s was not read", o.Name(0))
			unread++
		}
	}
	if unread > 0 {
		t.Errorf("%d of %d were not read", unread, len(outcomes))
	}
	others, err := PlayOthers(zones, 4, 11, now, func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	if others.Accepted > 0 {
		t.Errorf("%d of %d pictures without a zone were accepted", others.Accepted, others.Looked)
	}
}

// TestHidden: whatever hides a part of the zone, no other dates are made of it.
// `make documents` plays many more captures.
func TestHidden(t *testing.T) {
	zones, err := reader.New()
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	outcomes, err := PlayHidden(t.Context(), zones, HiddenSet(11, 1, now), now, func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range outcomes {
		if o.All != 1 || o.Wrong > 0 || o.Name == Open.Name && o.Went != 1 {
			t.Errorf("%s: %+v", o.Name, o)
		}
	}
}
