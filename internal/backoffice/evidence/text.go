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
	Collections    []collection
	Accuracy       []figureRow // all pictures by age
	Groups         []figureRow // by group and sex
	Outcomes       []statedOutcome
	MinCount       int
}

// figureRow is the figures of a cell of a collection.
type figureRow struct {
	collection
	N                              int64
	Group, Ages, Passed, MAE, Bias string
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
	if err == nil {
		set, err = set.ParseFS(measured, "measured/rows.md")
	}
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

// figures fills in the figures of the collections at the cutoff.
func (v *statement) figures() {
	if v.About.Accuracy == nil {
		return
	}
	for _, r := range v.About.Accuracy.rows {
		if !slices.Contains(v.Collections, r.collection) {
			v.Collections = append(v.Collections, r.collection)
		}
		passed, known := r.passed(v.Cutoff)
		if r.from == r.to || !known {
			continue
		}
		row := figureRow{
			r.collection, r.count, strings.Trim(r.group+" "+r.sex, " "), r.from + "–" + r.to, passed, r.mae, r.bias,
		}
		switch {
		case r.sex == "" && r.group == "":
			v.Accuracy = append(v.Accuracy, row)
		case row.Ages == "13–17" || row.Ages == "25–35":
			v.Groups = append(v.Groups, row)
		}
	}
}

// years formats a number of years without unnecessary digits.
func years(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
