package dashboard

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"agegate/internal/pages/dashboard/desk"
)

// topic is what a section of support's guide is about, in both of its languages.
type topic struct {
	words  []string // all of its text
	strong []string // of its title, of what shoppers say, and of the screens in any language that it is about
	text   string   // in one piece
}

var (
	quoted  = regexp.MustCompile(`"[^"]+"|„[^“]+“`)
	plainly = strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "ß", "ss")
	endings = []string{"", "d", "e", "ed", "em", "en", "er", "es", "ing", "n", "r", "s", "t", "te", "ten", "ung"}
	// documentSections are those about the screens that refuse a document and that ask for one.
	documentSections = map[string]string{"screen refused": "a-document-was-refused",
		"screen title": "the-document-step-does-not-go-on"}
)

// telling reports whether a word is of letters and has more than a number of them, as most that tell something have.
func telling(word string, more int) bool {
	return len(word) > more && !strings.ContainsFunc(word, func(c rune) bool { return !unicode.IsLetter(c) })
}

// alike reports whether two words are the same but for their endings or, of long ones, for a slip of the keys: a letter
// too many, too few, another, or two swapped.
func alike(a, b string, slip bool) bool {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	a, b = a[n:], b[n:]
	if !slip {
		return n > minLetters && slices.Contains(endings, a) && slices.Contains(endings, b) || a == b
	}
	for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return n > 0 && (max(len(a), len(b)) < 2 || len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0])
}

// readTopics returns what the sections of support's guide are about, in their order.
func (p *Pages) readTopics() (all []topic) {
	german := p.cfg.Sections("support"+".de", "##") // in one piece it would be taken for the key of a text
	for i, s := range p.cfg.Sections("support", "##") {
		both := lowered(strings.Join(append(s[:], german[i][:]...), " "))
		strong := append(quoted.FindAllString(both, -1), lowered(s[0]), lowered(german[i][0]))
		for key, screen := range p.replies {
			about := func(one reply) bool { return strings.Contains(s[2]+german[i][2], "*"+one.Text+"*") }
			if key == "said "+s[1] || documentSections[key] == s[1] ||
				strings.HasPrefix(key, "screen ") && slices.ContainsFunc(screen, about) {
				strong = append(strong, lowered(fmt.Sprint(screen)))
			}
		}
		said := inWord.FindAllString(strings.Join(strong, " "), -1)
		all = append(all, topic{append(inWord.FindAllString(both, -1), said...), said, both + strings.Join(strong, " ")})
	}
	return all
}

// lowered is a text in lower case without umlauts.
func lowered(text string) string { return plainly.Replace(strings.ToLower(text)) }

// guideAbout returns the sections of support's guide that have the most telling words of a text; the best first. The
// fewer sections have a word, the more it counts, twice in a title, a complaint or a screen, and the whole text most.
// told is the number of telling words; the guide must have a quarter of them. If closely is true, only sections count
// that have all words, or the text in the title.
func (p *Pages) guideAbout(r *desk.Request, text string, closely bool) (hits []hitView, told int, err error) {
	at, err := p.textsOf(r, "story.guide_step", "lookup.silent")
	if err != nil {
		return nil, 0, err
	}
	guide, _, _ := strings.Cut(at[0], "#")
	text = strings.Trim(lowered(text), "….:?")
	words := wordsOf(text)
	topics, words := p.topics(), slices.Sorted(slices.Values(words[:min(len(words), maxTold)]))
	silent, scores, known, heard := strings.Fields(at[1]), make([]float64, len(topics)), make([]int, len(topics)), 0
	for _, word := range slices.Compact(words) {
		word = strings.Trim(word, "….:?")
		if len(words) > 1 && (!telling(word, minLetters) || slices.Contains(silent, word)) {
			continue
		}
		weights, having := weigh(topics, word, len(words) <= maxNames && telling(word, 4))
		told, heard = told+1, heard+min(1, having)
		for i, weight := range weights {
			known[i] += int(min(1, weight))
			scores[i] += weight * math.Log(float64(len(topics))/float64(max(1, having)))
		}
	}
	for i, s := range p.cfg.Sections(guide, "##") {
		titled, _ := names(text, lowered(s[0]), "")
		if titled || len(words) > 1 && (closely && known[i] == len(words) || strings.Contains(topics[i].text, text)) {
			scores[i] += 3 * float64(max(1, told))
		} else if closely {
			scores[i] = 0
		}
		hits = append(hits, hitView{Kind: "nav.support", Name: s[0], score: scores[i],
			recordLink: recordLink{Href: r.Docs() + "/" + guide + "#" + s[1], Livemode: r.Access.Livemode()}})
	}
	slices.SortStableFunc(hits, func(a, b hitView) int { return cmp.Compare(b.score, a.score) })
	best := hits[0].score
	return slices.DeleteFunc(hits, func(hit hitView) bool { return hit.score <= best*2/3 || heard*4 < told }), told, nil
}

// weigh returns how much a word counts in each topic, and how many have it; if none has, one of a slip may.
func weigh(topics []topic, word string, slips bool) (weights []float64, having int) {
	for _, slip := range []bool{false, true} {
		weights, having = nil, 0
		has := func(list []string) bool {
			return slices.ContainsFunc(list, func(other string) bool { return alike(word, other, slip) })
		}
		for _, t := range topics {
			weight := 0.
			if has(t.strong) {
				weight = 2
			} else if has(t.words) {
				weight = 1
			}
			weights, having = append(weights, weight), having+int(min(1, weight))
		}
		if having > 0 || !slips {
			break
		}
	}
	return weights, having
}
