package evidence

import (
	"bytes"
	"embed"
	"fmt"
	"html"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/tenant"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
)

//go:embed text
var texts embed.FS

// statements are the Markdown files of a pack, in order.
var statements = []string{"README.md", "practice-statement.md", "ofcom-record.md", "dpia.md", "accessibility.md"}

// printable are those that a pack also has as HTML.
var printable = []string{"practice-statement.md", "ofcom-record.md"}

// words are the words that the templates' functions write, by language.
var words = map[string]struct {
	blank string
	gaps  map[string]string
}{
	"en": {"BLANK – to be filled in by the %s", map[string]string{
		"missing": " (the models directory has no measurement)",
		"other":   " (the measurement in the models directory is about another estimator)",
		"broken":  " (the measurement in the models directory cannot be read)", "off": " (it is switched off)",
		"elsewhere": " (other processes run it)",
	}},
	"de": {"LEER – einzutragen: %s", map[string]string{
		"missing": " (im Modellverzeichnis liegt keine Messung)",
		"other":   " (die Messung im Modellverzeichnis gilt einem anderen Schätzer)",
		"broken":  " (die Messung im Modellverzeichnis ist nicht lesbar)", "off": " (er ist abgeschaltet)",
		"elsewhere": " (er läuft in anderen Prozessen)",
	}},
}

// statement is the data for the texts.
type statement struct {
	About          Installation
	Tenant         tenant.Tenant
	Ways           []string // of the document check, for shoppers of the tenant
	Languages      []string
	Review         string // address; empty if not set
	From, Last     time.Time
	MadeAt         time.Time
	Target         int
	Margin, Cutoff float64 // for the target age
	Head           audit.Head
	Changes        string
	Collections    []Collection
	FairnessFile   string
	Accuracy       []figureRow // all pictures by age
	Groups         []figureRow // by sex and by group
	Attacks        Attacks
	Matching       Matching
	Robust, Beyond []robustRow
	BonaFide       string // errors of persons
	Outcomes       []statedOutcome
	MinCount       int
}

// figureRow is the figures of a cell of a collection.
type figureRow struct{ Collection, Group, Ages, N, Passed, MAE, Bias, Measured string }

// robustRow is the sum of several kinds of attack.
type robustRow struct {
	Check, Species, Form, Worst, Published string
	Kinds, Presentations, Accepted         int
}

// functions are the functions of the templates in a language.
func functions(language string) template.FuncMap {
	w := words[language]
	return template.FuncMap{
		"md":      escape,
		"years":   years,
		"day":     func(t time.Time) string { return t.Format(time.DateOnly) },
		"date":    func(t time.Time) string { return t.UTC().Format(time.DateOnly) },
		"days":    func(d time.Duration) int { return int(d.Hours() / 24) },
		"minutes": func(d time.Duration) string { return years(d.Minutes()) },
		"join":    func(list []string) string { return strings.Join(list, ", ") },
		"blank":   func(who string) string { return "**[" + fmt.Sprintf(w.blank, who) + "]**" },
		"gap":     func(why string) string { return w.gaps[why] },
	}
}

// special are the characters with a meaning in Markdown or HTML.
const special = "\\`*_[]<>#|~&"

// escape returns text that Markdown shows unchanged, on one line.
func escape(text string) string {
	var out strings.Builder
	for _, r := range strings.Join(strings.Fields(text), " ") {
		if strings.ContainsRune(special, r) {
			out.WriteByte('\\')
		}
		out.WriteRune(r)
	}
	return out.String()
}

// write returns the statements as Markdown, and the printable ones also as HTML.
func (v statement) write(language string) ([]file, error) {
	set, err := template.New("").Funcs(functions(language)).Option("missingkey=error").ParseFS(texts, "text/"+language+
		"/*.md")
	if err != nil {
		return nil, err
	}
	var files []file
	for _, name := range statements {
		var out bytes.Buffer
		if err := set.ExecuteTemplate(&out, name, v); err != nil {
			return nil, err
		}
		files = append(files, file{name, out.Bytes()})
		if slices.Contains(printable, name) {
			page, err := printed(language, out.Bytes())
			if err != nil {
				return nil, err
			}
			files = append(files, file{strings.TrimSuffix(name, ".md") + ".html", page})
		}
	}
	return files, nil
}

// printed returns a document as a single HTML page that loads nothing.
func printed(language string, markdown []byte) ([]byte, error) {
	var body bytes.Buffer
	if err := goldmark.New(goldmark.WithExtensions(extension.Table)).Convert(markdown, &body); err != nil {
		return nil, err
	}
	first, _, _ := strings.Cut(string(markdown), "\n")
	page := fmt.Sprintf(frame, language, html.EscapeString(strings.TrimPrefix(first, "# ")), body.String())
	return []byte(page), nil
}

// frame is the HTML around a printed document.
const frame = `<!doctype html>
<html lang="%s">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>%s</title>
<style>
:root { color-scheme: light dark }
body { font: 11pt/1.5 system-ui, sans-serif; max-width: 48rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.6em; line-height: 1.2 } h2 { font-size: 1.2em; margin-top: 2em }
table { border-collapse: collapse; width: 100%%; margin: 1em 0; font-size: .9em }
th, td { border: 1px solid GrayText; padding: .35em .5em; text-align: start; vertical-align: top }
th:empty { display: none }
code { font-size: .95em; overflow-wrap: anywhere }
@media print { :root { color-scheme: light } body { margin: 0; max-width: none } tr { break-inside: avoid } h2 { break-after: avoid } }
</style>
<main>
%s</main>
</html>
`

// interval formats a share with its bounds in per cent.
func (s share) interval() string {
	rate, low, high := s.percent()
	return rate + " (" + low + "–" + high + ")"
}

func (b Bounds) interval(sign bool) string {
	text := func(v float64) string {
		if sign && v > 0 {
			return "+" + tenth(v)
		}
		return tenth(v)
	}
	return text(b.Value) + " (" + text(b.Low) + "–" + text(b.High) + ")"
}

// figures fills in the figures of the collections at the cutoff.
func (v *statement) figures() {
	if v.About.Fairness == nil {
		return
	}
	v.Collections = v.About.Fairness.Collections
	for _, collection := range v.Collections {
		for _, c := range collection.Cells {
			passed, known := c.Passes(v.Cutoff)
			if c.From == c.To || !known {
				continue
			}
			row := figureRow{
				Collection: collection.Name, Group: c.Sex + c.Group, Ages: fmt.Sprintf("%d–%d", c.From, c.To),
				N:      strconv.Itoa(c.Count),
				Passed: wilson(passed, c.Count).interval(), MAE: c.MAE.interval(false), Bias: c.Bias.interval(true),
				Measured: collection.MadeAt.Format(time.DateOnly),
			}
			switch {
			case c.Sex == "" && c.Group == "":
				v.Accuracy = append(v.Accuracy, row)
			case (c.Sex == "" || c.Group == "") && (c.From == 13 && c.To == 17 || c.From == 25 && c.To == 35):
				v.Groups = append(v.Groups, row)
			}
		}
	}
}

// attacked adds up the attacks.
func (v *statement) attacked() {
	worst := map[string]share{}
	index := map[string]int{}
	errors, persons := 0, 0
	for _, a := range v.Attacks.Rows {
		s := exact(a.Errors, a.Presentations)
		switch {
		case a.Form == "bona fide":
			errors, persons = errors+a.Errors, persons+a.Presentations
			continue
		case !a.Goal:
			v.Beyond = append(v.Beyond, robustRow{Check: a.Check, Species: a.Species, Form: a.Form, Worst: s.interval()})
			continue
		}
		key := a.Check + ", " + a.Form
		i, ok := index[key]
		if !ok {
			i = len(v.Robust)
			index[key] = i
			v.Robust = append(v.Robust, robustRow{Check: key, Published: v.Attacks.published(a)})
		}
		row := &v.Robust[i]
		row.Kinds++
		row.Presentations += a.Presentations
		row.Accepted += a.Errors
		if old, ok := worst[key]; !ok || s.high > old.high {
			worst[key] = s
			row.Worst = s.interval() + " " + a.Species
		}
	}
	v.BonaFide = fmt.Sprintf("%d / %d, %s %%", errors, persons, exact(errors, persons).interval())
}
