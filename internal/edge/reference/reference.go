// Package reference serves the documentation: the contract and the workflows as documents, and below /docs the
// reference and the guides as pages, each also in Markdown. The templates are parsed at the start, documents and
// pages are made at their first request, because most processes show none. Both are kept.
package reference

import (
	"bytes"
	"context"
	"fmt"
	"html/template"
	"path"
	"slices"
	"strings"
	"sync"
	texttemplate "text/template"

	"github.com/labstack/echo/v4"

	"agegate"
	"agegate/internal/pages/page"
	"agegate/templates"
)

// Path is where the documentation begins, with a page that leads to its parts.
const Path = "/docs"

// referencePath is the page of the operations of the API.
const referencePath = Path + "/reference"

// policy allows the pages only scripts, styles and requests of this server.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// exampleURL is the gateway's address in the guides. The pages name their own gateway's in its place, so that
// commands can be copied as they are.
const exampleURL = "https://age.example.com"

// icon is the icon of every set of pages.
const icon = "static/icon.svg"

// link is an entry of the navigation.
type link struct{ Title, URL, Summary string }

// view is the data of a page.
type view struct {
	Title, Path string
	Static      string // base address of the static files
	BaseURL     string
	Operator    Operator
	Dashboard   string // its address, or empty
	Groups      []group
	Doors       []group // of the first page of the documentation
	Calls       []link  // of the reference: the operations
	Topics      []link  // likewise: the sections after them
	HTML        template.HTML
	Operations  []operation

	Previous, Next *link     // of a guide: those before and after it
	Outline        []section // of a guide: the parts of the page

	Setup bool   // on the page at /: the dashboard has no operator yet
	Shop  string // likewise: address of a sample shop, or empty

	Status int    // of a failed request
	Index  string // address of the index of the search

	Markdown string // the page as such; empty for one that does not exist in it
	Lang     string // of a translation
	sections []section
}

const (
	indexPath = Path + "/index/:hash" // what the script of the search reads
	listPath  = "/llms.txt"           // the list of the pages in Markdown
)

// Config is what the pages say about their gateway.
type Config struct {
	// BaseURL is the public address of the API, which the documents name as the server.
	BaseURL string
	// DashboardURL is the address of the dashboard; empty where none is served.
	DashboardURL string
	// NeedsSetup reports whether the dashboard has no operator yet, which the page at / then says; nil says nothing.
	NeedsSetup func(context.Context) (bool, error)
	// SampleShop is the address of a shop to try the gateway with; empty where there is none.
	SampleShop string
	Operator   Operator
}

// Operator is who runs the gateway, as the pages say; what is empty is not shown.
type Operator struct {
	Name, Imprint string
	Privacy       string // address of the notice for shoppers
}

// Pages are the handlers of the documentation, and of a page at / that leads to it and to the dashboard.
type Pages struct {
	cfg    Config
	layout *template.Template
	static *page.Assets
	made   func() (*site, error)
}

// site is what the first request makes.
type site struct {
	handlers map[string]echo.HandlerFunc // by path
	frame    view                        // what all pages have in common
}

// New parses the templates.
func New(cfg Config) (*Pages, error) {
	static, err := page.LoadAssets(Path+"/static", page.Source{Files: templates.ReferenceStatic()},
		page.Source{Files: templates.SharedStatic()}, page.Source{Files: templates.Dashboard(), Names: []string{icon}})
	if err != nil {
		return nil, fmt.Errorf("reference: %w", err)
	}
	layout, err := template.New("").Funcs(functions).ParseFS(templates.Shared(), "*.html")
	if err == nil {
		layout, err = layout.ParseFS(templates.Reference(), "*.html")
	}
	if err != nil {
		return nil, fmt.Errorf("reference: %w", err)
	}
	p := &Pages{cfg: cfg, layout: layout, static: static}
	p.made = sync.OnceValues(p.makeSite)
	return p, nil
}

// Register mounts the documents and the pages.
func (p *Pages) Register(e *echo.Echo) {
	mountDocuments(e, p.cfg.BaseURL)
	p.static.Register(e)
	serve := func(c echo.Context) error {
		made, err := p.made()
		if err != nil {
			return err
		}
		return made.handlers[c.Path()](c)
	}
	for _, path := range paths() {
		e.Match(reading, path, serve)
		if path != Path {
			e.Match(reading, path+".md", serve)
		}
	}
	e.Match(reading, "/", serve, page.Compress)
	e.Match(reading, indexPath, serve)
	e.Match(reading, listPath, serve)
}

// paths returns the paths of the pages that never change: Path, which only leads to others, and those with contents
// of their own.
func paths() []string {
	all := []string{Path, referencePath}
	for _, guide := range guides {
		all = append(all, Path+"/"+guide.name)
	}
	return all
}

// makeSite makes the pages and the handlers of their paths.
func (p *Pages) makeSite() (*site, error) {
	views, err := read(p.cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	index, serveIndex, err := newIndex(views)
	if err != nil {
		return nil, err
	}
	frame := view{BaseURL: p.cfg.BaseURL, Static: p.static.Base(), Dashboard: p.cfg.DashboardURL,
		Groups: navigation(views), Index: index, Operator: p.cfg.Operator}
	landing := frame
	landing.Title, landing.Path, landing.Doors = "Documentation", Path, doorsOf(frame.Groups)
	made := &site{handlers: map[string]echo.HandlerFunc{}, frame: frame}
	for _, v := range append(slices.Clone(views), &landing) {
		v.Static, v.Dashboard, v.Groups = frame.Static, frame.Dashboard, frame.Groups
		v.Index, v.Operator = frame.Index, frame.Operator
		if v.Lang != "" { // its own door first, and the rest folded
			v.Groups = append([]group{{Title: "Support", Links: append([]link{{Title: v.Title, URL: v.Path}},
				landing.Doors[len(doors)-1].Links...)}}, frame.Groups...)
		}
		out, err := p.render(v)
		if err != nil {
			return nil, err
		}
		made.handlers[v.Path] = packed(echo.MIMETextHTMLCharsetUTF8, "Content-Security-Policy", policy, out)
		if v.Markdown != "" {
			made.handlers[v.Path+".md"] = document("text/markdown; charset=utf-8", []byte(v.Markdown))
		}
	}
	made.handlers["/"] = p.start
	made.handlers[listPath] = document("text/plain; charset=utf-8", llms(views, p.cfg.BaseURL))
	made.handlers[indexPath] = serveIndex
	return made, nil
}

// render returns a page as HTML.
func (p *Pages) render(v *view) ([]byte, error) {
	var out bytes.Buffer
	if err := p.layout.ExecuteTemplate(&out, "layout.html", v); err != nil {
		return nil, fmt.Errorf("reference: %s: %w", v.Path, err)
	}
	return out.Bytes(), nil
}

// functions are the functions of the templates.
var functions = template.FuncMap{
	"anchor": anchor,
	// text renders the Markdown of a field or an answer, which has no headings.
	"text": func(source string) (template.HTML, error) {
		out, _, err := newMarkdown(samplesTemplate).render(source, 0)
		return out, err
	},
	"samples": func(group samples) (template.HTML, error) {
		var out bytes.Buffer
		err := samplesTemplate.Execute(&out, group)
		return template.HTML(out.String()), err //nolint:gosec // made by a template
	},
}

// samplesTemplate shows code in one or several languages. The language can be chosen without a script.
var samplesTemplate = template.Must(template.ParseFS(templates.Reference(), "blocks/samples.html"))

// read returns the pages, with the reference first.
func read(baseURL string) ([]*view, error) {
	reference, err := readReference(baseURL)
	if err != nil {
		return nil, fmt.Errorf("reference: %w", err)
	}
	views := []*view{reference}
	for _, guide := range guides {
		source, err := agegate.Docs.ReadFile(guide.file)
		if err != nil {
			return nil, fmt.Errorf("reference: %w", err)
		}
		v := &view{Path: Path + "/" + guide.name, BaseURL: baseURL, Lang: strings.TrimPrefix(path.Ext(guide.name), ".")}
		text := string(source)
		if strings.HasPrefix(guide.file, guidesFolder) {
			text = strings.ReplaceAll(text, exampleURL, baseURL)
		}
		if v.Markdown, err = localLinks(text); err != nil {
			return nil, fmt.Errorf("reference: %s: %w", guide.file, err)
		}
		if v.HTML, v.sections, err = newMarkdown(samplesTemplate).render(v.Markdown, 0); err != nil {
			return nil, fmt.Errorf("reference: %s: %w", guide.file, err)
		}
		v.Title = v.sections[0].Title
		v.Outline = slices.DeleteFunc(slices.Clone(v.sections), func(s section) bool { return s.Level != 2 })
		views = append(views, v)
	}
	listed := views[:len(views)-len(translations)]
	for i, v := range listed[1:] {
		if i > 0 {
			v.Previous = &link{Title: views[i].Title, URL: views[i].Path}
		}
		if i+2 < len(listed) {
			v.Next = &link{Title: views[i+2].Title, URL: views[i+2].Path}
		}
	}
	for _, v := range views[len(listed):] { // between those of the guide in English
		i := slices.IndexFunc(listed, func(in *view) bool { return in.Path+"."+v.Lang == v.Path })
		v.Previous, v.Next = listed[i].Previous, listed[i].Next
	}
	return views, nil
}

// readReference reads the page of the operations, followed by the contract's text about all operations.
func readReference(baseURL string) (*view, error) {
	contract, err := readNode(agegate.OpenAPI)
	if err != nil {
		return nil, err
	}
	v := &view{Title: "API reference", Path: referencePath, BaseURL: baseURL}
	if v.Operations, err = readOperations(contract); err != nil {
		return nil, err
	}
	m := newMarkdown(samplesTemplate)
	for _, o := range v.Operations {
		m.ids.Put([]byte(o.ID))
		v.Calls = append(v.Calls, link{Title: o.Summary, URL: referencePath + "#" + o.ID})
		v.sections = append(v.sections, section{ID: o.ID, Title: o.Summary,
			Text: strings.Join([]string{o.Text, o.ID, o.Method, o.Path}, " ")})
	}
	description := contract.get("info", "description").text()
	var topics []section
	if v.HTML, topics, err = m.render(description, 1); err != nil {
		return nil, err
	}
	for _, s := range topics {
		v.Topics = append(v.Topics, link{Title: s.Title, URL: referencePath + "#" + s.ID})
	}
	v.sections = append(v.sections, topics...)
	layout, err := texttemplate.New("reference.md").Funcs(texttemplate.FuncMap{"oneLine": oneLine}).
		ParseFS(templates.Reference(), "reference.md")
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = layout.Execute(&out, map[string]any{"BaseURL": baseURL, "Operations": v.Operations, "Description": description})
	v.Markdown = out.String()
	return v, err
}

// llms lists the pages in Markdown, as llmstxt.org describes.
func llms(views []*view, baseURL string) []byte {
	var b strings.Builder
	b.WriteString("# agegate\n\n> An age-verification gateway. A merchant's backend creates a session, the shopper's " +
		"browser goes to a\n" +
		"> hosted page, and the result comes back by signed redirect, signed webhook and status lookup.\n\n## Guides\n\n")
	for i, v := range views[1:] {
		fmt.Fprintf(&b, "- [%s](%s%s): %s\n", v.Title, baseURL, v.Path+".md", guides[i].summary)
	}
	fmt.Fprintf(&b, "\n## API\n\n- [%s](%s%s)\n", views[0].Title, baseURL, referencePath+".md")
	fmt.Fprintf(&b, "- [OpenAPI 3.1](%s/openapi.yaml)\n- [OpenAPI 3.0.3](%[1]s/openapi-3.0.yaml)\n"+
		"- [Arazzo workflows](%[1]s/arazzo.yaml)\n", baseURL)
	return []byte(b.String())
}
