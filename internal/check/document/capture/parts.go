package capture

import (
	"time"

	"agegate/internal/check/document/mrz"
	"agegate/internal/check/document/reader"
)

// Limits for frames in which a part of the zone is hidden.
const (
	minCommon   = 20 // characters that a frame must have in common with the earlier ones
	maxContrary = 1  // frames in a row that contradict the earlier ones, before these are dropped
)

// parts joins frames that show different parts of one zone and agree where they overlap. A date counts only from frames
// that show all of it, with its check digit. Enough frames must show the date, and one frame must show both dates. So
// neither a date nor a pair of dates is put together from several frames. The zero value has no frames. The size of
// parts does not grow with the number of frames.
type parts struct {
	format mrz.Format
	chars  [][]byte
	frames [][]int // that show each character
	paired bool    // a frame has shown both dates
	stray  int     // frames in a row that contradict the earlier ones
	last   time.Time
}

// add adds a frame and reports whether it agrees with the earlier ones. One frame that does not agree is ignored. After
// a second one, parts forgets the earlier frames and begins again with it. parts also begins again after a gap.
func (p *parts) add(seen *reader.Part, now time.Time) bool {
	lines := seen.Format.WholeDates(seen.Lines, reader.Unseen)
	gap := now.Sub(p.last) > longestGap
	p.last = now
	if gap || seen.Format != p.format {
		p.begin(seen.Format)
	} else if !p.agrees(lines) {
		if p.stray++; p.stray <= maxContrary {
			return false
		}
		p.begin(seen.Format)
	}
	p.stray = 0
	paired := true
	for l, line := range lines {
		for i := range line {
			if line[i] != reader.Unseen {
				p.chars[l][i] = line[i]
				p.frames[l][i]++
			} else if p.format.InDate(l, i) {
				paired = false
			}
		}
	}
	p.paired = p.paired || paired
	return true
}

func (p *parts) begin(format mrz.Format) {
	p.format, p.paired = format, false
	p.chars, p.frames = make([][]byte, format.Lines()), make([][]int, format.Lines())
	for l := range p.chars {
		p.chars[l], p.frames[l] = make([]byte, format.Length()), make([]int, format.Length())
	}
}

// agrees reports whether a frame has enough characters in common with the earlier
// frames, and contradicts none of theirs.
func (p *parts) agrees(lines []string) bool {
	common := 0
	for l, line := range lines {
		for i := range line {
			if line[i] == reader.Unseen || p.frames[l][i] == 0 {
				continue
			}
			if line[i] != p.chars[l][i] {
				return false
			}
			common++
		}
	}
	return common >= minCommon
}

// zone returns the lines of the zone when the frames have shown every character that
// the age check needs: each date in enough frames, and both dates in one frame. For
// characters that no check digit covers and no frame has shown, it returns fillers.
func (p *parts) zone() (lines []string, ok bool) {
	for l := range p.chars {
		text := make([]byte, len(p.chars[l]))
		for i, char := range p.chars[l] {
			required := 0
			switch {
			case p.format.InDate(l, i):
				required = agreeing
			case p.format.Needed(l, i):
				required = 1
			}
			if p.frames[l][i] < required {
				return nil, false
			}
			if text[i] = char; p.frames[l][i] == 0 {
				text[i] = mrz.Filler
			}
		}
		lines = append(lines, string(text))
	}
	return lines, p.paired
}
