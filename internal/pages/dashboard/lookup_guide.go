package dashboard

import (
	"cmp"
	"fmt"
	"io/fs"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"agegate/internal/pages/dashboard/desk"
	"agegate/templates"
)

// topics are what the sections of support's guide are about, learned from mails that each of them answers.
type topics struct {
	guides map[string][]topic // the guide in each language, by its name
	all    int                // mails
	mails  []int              // of each section, and last those that none answers
	having map[string][]int   // for each feature the section of every mail that has it
	texts  []string           // of each section in both languages, and of the screens in any that it is about
}

// topic is a section of the guide in one language.
type topic struct {
	title, anchor, reply string
	do                   []string   // paragraphs and items of a list
	screens              [][]string // for each row of its table, what screens say, in lower case between asterisks
	helps                []string   // for each row, what helps
}

// What counts as about a section: at least minScore, and mostOfBest of the best section, which has more than the mails
// that none answers have of it; of the last staffSections, which no shopper asks about and no long mail, staffScore
// and the most. At most maxTopics count. pieceLetters is how many letters a piece of a word has.
const (
	minScore, mostOfBest, maxTopics = 7, 0.5, 3
	staffSections, staffScore       = 3, 25
	pieceLetters                    = 5
)

var (
	numbers = regexp.MustCompile(`\S*(?:[@/]|[0-9]{3})\S*`) // and addresses, which are in mails about anything
	quoted  = regexp.MustCompile(`"[^"]+"|„[^“]+“`)
	plainly = strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "ß", "ss")
	// advice is the reply that a section quotes or, without one, what it says to do, with the list after a colon. markup
	// is what is none of its words.
	advice = regexp.MustCompile(`(?s:^.*?)((?:\n> .*)+)|` +
		`\n\*\*(?:Do|Tun):\*\* ((?:.+\n)*(?:.*[^:\n]|.*:\n\n(?:1\.|-) .*(?:\n.+)*))(?:\n|$)`)
	markup = regexp.MustCompile(`\n>|[*\[]|\]\([^)]*\)`)
	row    = regexp.MustCompile(`(?m)^\| ([^|]*\*[^|]*) \| ([^|]+) \|$`)
	shown  = regexp.MustCompile(`\*[^*]{8,}\*`)
	items  = regexp.MustCompile(`\n\n?(?:-|\d\.) |\n\n`)
	// documentSections are those about the screens that refuse a document and that ask for one.
	documentSections = map[string]string{"screen refused": "a-document-was-refused",
		"screen title": "the-document-step-does-not-go-on"}
)

// lowered is a text in lower case without umlauts.
func lowered(text string) string { return plainly.Replace(strings.ToLower(text)) }

// telling reports whether a word is of letters and has more than a number of them, as most that tell something have.
func telling(word string, more int) bool {
	return len(word) > more && !strings.ContainsFunc(word, func(c rune) bool { return !unicode.IsLetter(c) })
}

// saidIn returns the first words of a text, in lower case.
func saidIn(text string) []string {
	return inWord.FindAllString(numbers.ReplaceAllString(lowered(text), ""), maxTold)
}

// featuresOf returns the pairs of words of a text, and the pieces of its words, which words with other endings, slips
// of the keys or parts in common share; each once.
func featuresOf(text string) (all []string) {
	before := ""
	for _, word := range saidIn(text) {
		all = append(all, before+" "+word)
		before = word
		rest := []rune("_" + word + "_")
		for ; len(rest) > pieceLetters; rest = rest[1:] {
			all = append(all, string(rest[:pieceLetters]))
		}
		all = append(all, string(rest))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// plain is a text without markup, which begins with a capital letter.
func plain(text string) string {
	text = strings.Join(strings.Fields(markup.ReplaceAllString(text, "")), " ")
	return strings.ToUpper(text[:min(len(text), 1)]) + text[min(len(text), 1):]
}

// topicOf reads a section of the guide.
func topicOf(s [3]string) topic {
	t := topic{title: s[0], anchor: s[1]}
	said := append(advice.FindStringSubmatch(s[2]), "", "", "")
	t.reply = plain(said[1])
	for _, item := range items.Split(said[2], -1) {
		if item = plain(item); item != "" {
			t.do = append(t.do, item)
		}
	}
	for _, cells := range row.FindAllStringSubmatch(s[2], -1) {
		t.screens = append(t.screens, shown.FindAllString(lowered(cells[1]), -1))
		t.helps = append(t.helps, plain(cells[2]))
	}
	return t
}

// readTopics learns the topics: from mails.txt, and from the titles and the quotes of the guide's sections.
func (p *Pages) readTopics() topics {
	german, sections := p.cfg.Sections("support"+".de", "##"), p.cfg.Sections("support", "##") // no key of a text
	t := topics{guides: map[string][]topic{}, mails: make([]int, len(sections)+1), having: map[string][]int{},
		texts: make([]string, len(sections))}
	learn := func(i int, mail string) {
		t.all++
		t.mails[i]++
		for _, feature := range featuresOf(mail) {
			t.having[feature] = append(t.having[feature], i)
		}
	}
	for i, s := range sections {
		both := s[2] + german[i][2]
		t.texts[i] = lowered(strings.Join(append(s[:], german[i][:]...), " "))
		for _, said := range append(quoted.FindAllString(both, -1), s[0], german[i][0]) {
			learn(i, said)
		}
		for key, screen := range p.replies {
			about := func(one reply) bool { return strings.Contains(both, "*"+one.Text+"*") }
			if documentSections[key] == s[1] || strings.HasPrefix(key, "screen ") && slices.ContainsFunc(screen, about) {
				t.texts[i] += lowered(fmt.Sprint(screen))
			}
		}
		t.guides["support"] = append(t.guides["support"], topicOf(s))
		t.guides["support"+".de"] = append(t.guides["support"+".de"], topicOf(german[i]))
	}
	data, _ := fs.ReadFile(templates.Dashboard(), "mails"+".txt") // a test reads it
	for line := range strings.Lines(string(data)) {
		section, mail, _ := strings.Cut(line, "\t")
		i := slices.IndexFunc(sections, func(s [3]string) bool { return s[1] == section })
		learn((i+len(t.mails))%len(t.mails), mail) // -1: none
	}
	return t
}

// weigh returns how much a text is about each section, and last about none: complement naive Bayes, the logarithm of
// how much more often than elsewhere mails to the section have the text's features (Rennie et al., ICML 2003).
func (t topics) weigh(text string) []float64 {
	scores := make([]float64, len(t.mails))
	share := func(having, mails int) float64 { return (float64(having) + 0.1) / (float64(mails) + 0.2) }
	for _, feature := range featuresOf(text) {
		counts, total := make([]int, len(scores)), len(t.having[feature])
		for _, i := range t.having[feature] {
			counts[i]++
		}
		for i, n := range counts {
			if total > 0 {
				scores[i] += math.Log(share(n, t.mails[i]) / share(total-n, t.all-t.mails[i]))
			}
		}
	}
	return scores
}

// guideAbout returns the sections of support's guide that a text is about, the best first, and how many of its words
// may tell what it is about. A text that a section has in one piece is about it. If closely is true, of a word
// only sections count that have it in the title.
func (p *Pages) guideAbout(r *desk.Request, text string, closely bool) (hits []hitView, told int, err error) {
	at, err := p.textsOf(r, "story.guide_step")
	if err != nil {
		return nil, 0, err
	}
	guide, _, _ := strings.Cut(at[0], "#")
	text = strings.Trim(lowered(text), "….:?")
	words := slices.Compact(slices.Sorted(slices.Values(saidIn(text))))
	told = len(slices.DeleteFunc(words, func(word string) bool { return !telling(word, minLetters) }))
	topics := p.topics()
	scores := topics.weigh(text)
	best := slices.Max(scores)
	for i, s := range topics.guides[guide] {
		titled, _ := names(text, lowered(s.title), "")
		if titled || len(text) > 16 && strings.Contains(topics.texts[i], text) {
			scores[i] += 10 * minScore
		} else if closely && told < 2 || i >= len(topics.texts)-staffSections &&
			(scores[i] < max(staffScore, best) || told > maxNames) {
			scores[i] = 0
		}
		english, german := topics.guides["support"][i], topics.guides["support"+".de"][i]
		hit := hitView{Kind: "nav.support", Name: s.title, Advice: slices.Clip(s.do), About: english.anchor, score: scores[i],
			recordLink: recordLink{Href: r.Docs() + "/" + guide + "#" + s.anchor, Livemode: r.Access.Livemode()}}
		if s.reply != "" {
			hit.Replies = []reply{{"en", "English", english.reply}, {"de", "Deutsch", german.reply}}
		}
		quotes := func(said string) bool { return strings.Contains(text, strings.Trim(said, "*")) }
		for j, helps := range s.helps {
			if slices.ContainsFunc(slices.Concat(english.screens[j], german.screens[j]), quotes) {
				hit.Advice = append(hit.Advice, helps)
			}
		}
		hits = append(hits, hit)
	}
	slices.SortStableFunc(hits, func(a, b hitView) int { return cmp.Compare(b.score, a.score) })
	most := hits[0].score * mostOfBest
	hits = slices.DeleteFunc(hits, func(hit hitView) bool {
		return hit.score < max(minScore, most) || scores[len(scores)-1] > most
	})
	return hits[:min(len(hits), maxTopics)], told, nil
}
