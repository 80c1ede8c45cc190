package reference

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"agegate/internal/pages/page"
)

// entry is what the search can find: a section of a page, or a field of an operation.
type entry struct {
	Title string `json:"title"`
	Page  string `json:"page,omitempty"` // if it is not that of the entry before, and so the path in URL
	URL   string `json:"url,omitempty"`  // which the script completes if it lacks an anchor, from the title
	Text  string `json:"text"`
	Name  bool   `json:"name,omitempty"` // of a field or an error
	Lang  string `json:"lang,omitempty"` // of a translation, which has no Text
}

// unsearched are the titles of sections of which the search knows no more than these titles.
var unsearched = []string{"What it cannot be used for", "Add a new language", "How it behaves", "From 0.2.0", "Sources",
	"Rules for registration certificates", "How this was measured", "Traces in detail", "The signature", "The cases",
	"What the files are made from", "The shop's description", "What it cannot see", "What was tried", "Operations"}

// unsearchedColumns are the titles of columns in whose rows other cells are searched.
var unsearchedColumns = []string{"Do", "What to set", "Default", "What stays with you", "Content"}

// newIndex returns what the script of the search reads, and its address with its hash. Of equal matches the script
// shows sections before names, and those of a guide before those of the reference. The changelog is left out: it says
// what changed, not what is. Of translations the index has the titles, after all sections.
func newIndex(views []*view) (address string, serve echo.HandlerFunc, err error) {
	var sections, names []entry
	for _, v := range append(slices.Clone(views[1:]), views[0]) {
		if v.Path == Path+"/"+changelog {
			continue
		}
		for _, s := range v.sections {
			e := entry{s.Title, v.Title, v.Path + "#" + strings.TrimSuffix(s.ID, anchor(s.Title)), oneLine(s.Text),
				v.Path == Path+"/"+errorGuide && s.Level == 3, v.Lang}
			if e.Lang != "" || slices.Contains(unsearched, s.Title) {
				e.Text = ""
			}
			if e.Name || e.Lang != "" {
				names = append(names, e)
			} else {
				sections = append(sections, e)
			}
		}
		for _, o := range v.Operations {
			names = append(names, o.fieldEntries(v.Path)...)
		}
	}
	all := slices.Concat(sections, names)
	for i := len(all) - 1; i > 0; i-- {
		before, _, _ := strings.Cut(all[i-1].URL, "#")
		all[i].URL = strings.TrimPrefix(all[i].URL, before+"#")
		if all[i].Page == all[i-1].Page {
			all[i].Page = ""
		}
	}
	index, err := json.Marshal(all)
	if err != nil {
		return "", nil, fmt.Errorf("reference: %w", err)
	}
	hash := fmt.Sprintf("%x", sha256.Sum256(index))[:16]
	unkept := page.Packed(echo.MIMEApplicationJSON, index)
	return strings.Replace(indexPath, ":hash", hash, 1), func(c echo.Context) error {
		if c.Param("hash") == hash { // during an update it can be another build's
			c.Response().Before(func() { page.KeepForever(c) })
		}
		return unkept(c)
	}, nil
}

// fieldEntries returns the fields of an operation as entries that lead to the part
// of the page which describes them. Headers of answers are found where the pages explain them.
func (o operation) fieldEntries(path string) (all []entry) {
	add := func(fields []field, anchor string) {
		for _, f := range fields {
			text := oneLine(f.Type + ". " + strings.ReplaceAll(f.Text, "`", ""))
			all = append(all, entry{f.Name, o.Summary, path + "#" + o.ID + "-" + anchor, text, true, ""})
		}
	}
	add(o.Parameters, "parameters")
	add(o.Body, "body")
	for _, a := range o.Answers {
		add(a.Fields, a.Status)
	}
	return all
}

// oneLine makes a text fit an item of a list.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
