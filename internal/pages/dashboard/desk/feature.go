package desk

import (
	"html/template"
	"slices"

	"agegate/internal/pages/page"
)

// Feature describes the pages in one file.
type Feature struct {
	Routes  []Route
	Screens []string // the templates that its handlers render
	Forms   []*Form
	Notices []string         // shown after a redirect: the texts notice.<name>
	Failed  []string         // notices that report a failure
	Keys    []string         // further texts whose keys are composed at run time
	Funcs   template.FuncMap // further functions of the templates
}

// composed returns the texts for which templates compose the keys.
func (f Feature) composed() []string {
	keys := f.Keys
	for _, form := range f.Forms {
		keys = append(keys, form.keys()...)
	}
	return append(keys, page.Keys("notice.", slices.Concat(f.Notices, f.Failed)...)...)
}
