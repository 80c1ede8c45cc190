package certify

import (
	"net/http"
	"strings"
	"unicode"

	"agegate/internal/rules/routine"
	"agegate/internal/rules/webhook"
)

// flip changes the letter of a text that is n from its end.
func flip(text string, n int) string {
	at, letter := len(text)-n, "A"
	if text[at] == 'A' {
		letter = "B"
	}
	return text[:at] + letter + text[at+1:]
}

// inSmallLetters writes the names of headers as HTTP/2 does.
func inSmallLetters(h http.Header) {
	for name, values := range h {
		delete(h, name)
		h[strings.ToLower(name)] = values
	}
}

// otherCase swaps capital and small letters.
func otherCase(text string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsUpper(c) {
			return unicode.ToLower(c)
		}
		return unicode.ToUpper(c)
	}, text)
}

// sendGood sends a delivery that must be accepted, after alter has changed it.
func (t *trial) sendGood(alter func(*delivery)) error { return t.sendAltered(alter, accept) }

// sendForged sends a delivery that must be refused.
func (t *trial) sendForged(alter func(*delivery)) error { return t.sendAltered(alter, refuse) }

func (t *trial) sendAltered(alter func(*delivery), want expect) error {
	d, err := t.good()
	if err != nil {
		return err
	}
	if alter != nil {
		alter(d)
	}
	return t.send(d, want)
}

// sendAtOnce sends one delivery several times at the same time.
func (t *trial) sendAtOnce() error {
	d, err := t.good()
	if err != nil {
		return err
	}
	header, err := d.header()
	if err != nil {
		return err
	}
	answers := make([]webhook.Answer, atOnce)
	var all routine.Group
	for i := range answers {
		all.Start(func() error { answers[i] = t.post(d, header); return nil })
	}
	if err := all.Wait(); err != nil {
		return err
	}
	seen := map[int]bool{}
	for _, a := range answers {
		if !seen[a.StatusCode] { // report the same status only once
			t.answered(a, "", accept)
		}
		seen[a.StatusCode] = true
	}
	return nil
}
