package reference

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// Limits of a search: what comes after is ignored, so that a search costs at most
// maxWords passes over the vocabulary.
const (
	maxQuery = 64 // bytes
	maxWords = 6
	maxFound = 50 // results
)

// kind says what an entry is. A search shows sections before names that match as
// well, and both before changes.
type kind int

const (
	aSection kind = iota
	aName         // of a field or an error
	aChange       // a section of the changelog
)

// entry is what a search can find: a section of a page, or a field of an
// operation.
type entry struct {
	Title, Page, URL, text string

	kind       kind
	titleWords int
}

// late is 1 for an entry that is shown after all others, else 0.
func (e entry) late() int {
	if e.kind == aChange {
		return 1
	}
	return 0
}

// occurrence is an entry that contains a word.
type occurrence struct {
	entry   int
	inTitle bool
}

// index is the vocabulary of all entries. It never changes.
type index struct {
	entries []entry
	words   []string // sorted
	where   [][]occurrence
}

// found is an entry with the part of its text that matches a query.
type found struct {
	Title  string `json:"title"`
	Page   string `json:"page"`
	URL    string `json:"url"`
	Before string `json:"before"`
	Match  string `json:"match"`
	After  string `json:"after"`
}

// word is a run of letters, digits and underscores, such as status_at, or C#.
var word = regexp.MustCompile(`[Cc]#|[\pL\pN_]+`)

func wordsOf(text string) []string { return word.FindAllString(strings.ToLower(text), -1) }

// newIndex takes the pages with the reference first. Of entries that match equally
// well, those of a guide are shown before those of the reference.
func newIndex(views []*view) *index {
	x := &index{}
	for _, v := range append(slices.Clone(views[1:]), views[0]) {
		for _, s := range v.sections {
			kind := aSection
			switch {
			case v.Path == Path+"/"+changelog:
				kind = aChange
			case v.Path == Path+"/"+errorGuide && s.Level == 3:
				kind = aName
			}
			x.entries = append(x.entries, entry{s.Title, v.Title, v.Path + "#" + s.ID,
				strings.Join(strings.Fields(s.Text), " "), kind, len(wordsOf(s.Title))})
		}
		for _, o := range v.Operations {
			x.entries = append(x.entries, o.fieldEntries(v.Path)...)
		}
	}
	slices.SortStableFunc(x.entries, func(a, b entry) int { return int(a.kind - b.kind) })
	where := map[string][]occurrence{}
	for i, e := range x.entries {
		inTitle := wordsOf(e.Title)
		all := append(slices.Clone(inTitle), wordsOf(e.Page+" "+e.text)...)
		slices.Sort(all)
		for _, w := range slices.Compact(all) {
			where[w] = append(where[w], occurrence{i, slices.Contains(inTitle, w)})
		}
	}
	for w := range where {
		x.words = append(x.words, w)
	}
	slices.Sort(x.words)
	for _, w := range x.words {
		x.where = append(x.where, where[w])
	}
	return x
}

// fieldEntries returns the fields of an operation as entries that lead to the part
// of the page which describes them.
func (o operation) fieldEntries(path string) (all []entry) {
	add := func(fields []field, anchor string) {
		for _, f := range fields {
			text := strings.Join(strings.Fields(f.Type+". "+strings.ReplaceAll(f.Text, "`", "")), " ")
			all = append(all, entry{f.Name, o.Summary, path + "#" + o.ID + "-" + anchor, text, aName, len(wordsOf(f.Name))})
		}
	}
	add(o.Parameters, "parameters")
	add(o.Body, "body")
	for _, a := range o.Answers {
		add(a.Fields, a.Status)
		add(a.Headers, a.Status)
	}
	return all
}

// How well a word matches a word of a query.
const (
	typo = 1 + iota
	inside
	prefix
	exact
)

// hit is how well an entry matches a query so far.
type hit struct {
	words   int    // of the query that match
	grades  int    // the sum of their grades
	inTitle int    // how many of them match the title
	title   int    // the sum of the grades of these
	first   string // the word of the text that matches the first matched word best
}

// score is higher the better the entry matches. The title of a section counts as
// much as its text. A name counts only as a whole: who asks for "webhook" does not
// ask for the header webhook-id.
func (e entry) score(h hit) int {
	if e.kind == aName && h.inTitle < min(e.titleWords, maxWords) {
		return h.grades
	}
	return h.grades + h.title
}

// search returns the entries that match most words of a query, the best first and
// those of the changelog last.
func (x *index) search(query string) []found {
	words := askedFor(query[:min(len(query), maxQuery)])
	hits := map[int]hit{}
	for _, asked := range words[:min(len(words), maxWords)] {
		for i, best := range x.matches(asked) {
			h := hits[i]
			h.first = cmp.Or(h.first, best.first)
			hits[i] = hit{h.words + 1, h.grades + best.grades, h.inTitle + best.inTitle, h.title + best.title, h.first}
		}
	}
	var most [2]int // words that an entry matches at most, outside and in the changelog
	order := make([]int, 0, len(hits))
	for i, h := range hits {
		late := x.entries[i].late()
		most[late] = max(most[late], h.words)
		order = append(order, i)
	}
	order = slices.DeleteFunc(order, func(i int) bool { return hits[i].words < most[x.entries[i].late()] })
	slices.SortFunc(order, func(a, b int) int {
		one, other := x.entries[a], x.entries[b]
		return cmp.Or(one.late()-other.late(), other.score(hits[b])-one.score(hits[a]), a-b)
	})
	results := []found{}
	for _, i := range order[:min(len(order), maxFound)] {
		results = append(results, x.entries[i].shown(hits[i].first))
	}
	return results
}

// matches returns the entries that contain a word like the one that is asked for, or
// like another form of it. Words one typo away count only if no other word matches.
func (x *index) matches(asked string) map[int]hit {
	best := map[int]hit{}
	others := formsOf(asked)
	for _, grades := range [][]int{{inside, prefix, exact}, {typo}} {
		for n, w := range x.words {
			grade := grade(asked, w)
			for _, other := range others {
				grade = max(grade, gradeOfForm(other, w))
			}
			if !slices.Contains(grades, grade) {
				continue
			}
			for _, at := range x.where[n] {
				one := hit{words: 1, grades: grade, first: w}
				if at.inTitle {
					one.inTitle, one.title = 1, grade
				}
				if old := best[at.entry]; one.grades+one.title > old.grades+old.title {
					best[at.entry] = one
				}
			}
		}
		if len(best) > 0 {
			break
		}
	}
	return best
}

// grade says how well a word matches one that is asked for, or 0.
func grade(asked, w string) int {
	switch {
	case w == asked:
		return exact
	case strings.HasPrefix(w, asked):
		return prefix
	case len(asked) > 2 && strings.Contains(w, asked):
		return inside
	case len(asked) > 3 && isTypo(asked, w):
		return typo
	}
	return 0
}

// isTypo reports whether one change makes a word of another: a letter more, less or
// replaced, or two neighbours exchanged.
func isTypo(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) < len(b) {
		return a[i:] == b[i+1:]
	}
	if i == len(a) {
		return true
	}
	return a[i+1:] == b[i+1:] || i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}

// around is how much of the text is shown before and after a match, in runes.
const around = 70

// shown returns the entry with the part of its text around a word, or with the
// beginning of its text if only its title has the word.
func (e entry) shown(w string) found {
	f := found{Title: e.Title, Page: e.Page, URL: e.URL}
	text := []rune(e.text)
	at := word.FindAllStringIndex(e.text, -1)
	i := slices.IndexFunc(at, func(at []int) bool { return strings.EqualFold(e.text[at[0]:at[1]], w) })
	if i < 0 {
		f.After = cut(text, 2*around)
		return f
	}
	before, after := []rune(e.text[:at[i][0]]), []rune(e.text[at[i][1]:])
	f.Before = string(before)
	f.Match = e.text[at[i][0]:at[i][1]]
	f.After = cut(after, around)
	if len(before) > around {
		f.Before = string(before[len(before)-around:])
		if _, whole, ok := strings.Cut(f.Before, " "); ok {
			f.Before = whole
		}
		f.Before = "… " + f.Before
	}
	return f
}

// cut returns the beginning of a text, with whole words only where it has spaces.
func cut(text []rune, limit int) string {
	if len(text) <= limit {
		return string(text)
	}
	short := string(text[:limit])
	if i := strings.LastIndexByte(short, ' '); i > 0 {
		short = short[:i]
	}
	return short + " …"
}
