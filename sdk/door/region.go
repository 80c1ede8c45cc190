package door

import (
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/oschwald/maxminddb-golang/v2"
	"golang.org/x/text/language"
)

// Demand is what the site asks of a visitor. The zero Demand asks for nothing.
type Demand struct {
	Age      int  `json:"g,omitempty"`
	Document bool `json:"d,omitempty"` // by DOOR_DOCUMENT_API_KEY, whose tenant takes documents only
	Blocked  bool `json:"-"`           // nothing helps
}

// meets reports whether who has shown this much may go where another demand holds.
func (d Demand) meets(want Demand) bool {
	return !want.Blocked && d.Age >= want.Age && (d.Document || !want.Document)
}

// and returns the least demand that asks for as much as both.
func (d Demand) and(other Demand) Demand {
	return Demand{max(d.Age, other.Age), d.Document || other.Document, d.Blocked || other.Blocked}
}

func (d Demand) String() string {
	switch {
	case d.Blocked:
		return "block"
	case d.Age == 0:
		return "free"
	}
	return fmt.Sprintf("check %d%s", d.Age, map[bool]string{true: " document"}[d.Document])
}

// Regions say what the site asks of visitors by where they are.
type Regions struct {
	rows    map[string]Demand // by "US-TX", "US", elsewhere, unknown, and "US-" for an unknown state
	headers []string          // the country's and the state's
	places  *maxminddb.Reader // of addresses; nil where headers say it
}

const elsewhere, unknown = "*", "unknown"

// rule matches a line of the table.
var (
	rule       = regexp.MustCompile(`^(\S+)\s+(?:(block)|free|check\s+(1[3-9]|[2-9][0-9])(\s+document)?)$`)
	regionName = regexp.MustCompile(`^([A-Z]{2})(-[A-Z0-9]{1,3})?$`)
)

// parse adds the rules of a table, and what follows from them for visitors whose region
// is not known: the strictest of all, or of those of their country.
func (g *Regions) parse(r *reader, table string) {
	for i, line := range strings.Split(table, "\n") {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		m := rule.FindStringSubmatch(line)
		if m == nil {
			r.failf("DOOR_RULES", "line %d is not such as GB check 18, US-TX check 18 document, FR,IT block, or JP free", i+1)
			continue
		}
		want := Demand{Blocked: m[2] != "", Document: m[4] != ""}
		want.Age, _ = strconv.Atoi(m[3]) // 0, if nothing is checked
		for name := range strings.SplitSeq(m[1], ",") {
			country := regionName.FindStringSubmatch(name)
			if _, twice := g.rows[name]; twice || name != elsewhere && (country == nil || !isCountry(country[1])) {
				r.failf("DOOR_RULES", "line %d names a region twice, or one that is neither such as GB or US-TX nor *", i+1)
			}
			g.rows[name] = want
		}
	}
	given := maps.Clone(g.rows)
	for name, want := range given {
		g.rows[unknown] = g.rows[unknown].and(want)
		if country, _, ok := strings.Cut(name, "-"); ok {
			g.rows[country+"-"] = g.rows[country+"-"].and(want)
		}
	}
	for name := range given {
		if country, _, ok := strings.Cut(name, "-"); ok {
			g.rows[country+"-"] = g.rows[country+"-"].and(g.find(country, elsewhere))
		}
	}
}

// isCountry reports whether a code is a country's in ISO 3166.
func isCountry(code string) bool {
	region, err := language.ParseRegion(code)
	return err == nil && region.IsCountry() && region.Canonicalize().String() == code
}

// find returns the first row that there is, or the one of unknown regions.
func (g *Regions) find(names ...string) Demand {
	for _, name := range names {
		if want, ok := g.rows[name]; ok {
			return want
		}
	}
	return g.rows[unknown]
}

// demandOf returns what is asked of the visitor who sent a request.
func (c *Config) demandOf(r *http.Request) Demand {
	if c.Regions == nil {
		return Demand{Age: c.Age}
	}
	country, state := c.regionOf(r)
	found := regionName.FindStringSubmatch(country + "-" + strings.TrimPrefix(state, country+"-"))
	switch {
	case !isCountry(country):
		return c.Regions.rows[unknown]
	case found == nil:
		return c.Regions.find(country+"-", country, elsewhere)
	}
	return c.Regions.find(found[0], country, elsewhere)
}

// regionOf returns a visitor's country and state, or what stands for them where they are
// not known. Headers count from a trusted proxy alone.
func (c *Config) regionOf(r *http.Request) (country, state string) {
	if c.Regions.places != nil {
		return c.Regions.placeOf(c.visitorOf(r))
	}
	found := []string{"", ""}
	for i, name := range c.Regions.headers {
		if sent := r.Header.Values(name); len(sent) == 1 && c.trusts(remoteOf(r)) {
			found[i] = strings.ToUpper(sent[0])
		}
	}
	return found[0], found[1]
}

func (g *Regions) placeOf(addr netip.Addr) (country, state string) {
	if addr.IsValid() {
		found := g.places.Lookup(addr)
		_ = found.DecodePath(&country, "country", "iso_code") // what there is not is not known
		_ = found.DecodePath(&state, "subdivisions", 0, "iso_code")
	}
	return country, state
}

// regions reads the table, and where a visitor's region is found.
func (r *reader) regions() *Regions {
	table, places := r.file("DOOR_RULES"), r.file("DOOR_REGION_FILE")
	g := &Regions{rows: map[string]Demand{}, headers: list(r.trimmed("DOOR_REGION_HEADER"))}
	if table == nil && places == nil && len(g.headers) == 0 {
		return nil
	}
	g.parse(r, string(table))
	if (len(g.headers) > 0) == (places != nil) || len(g.headers) > 2 || len(g.rows) == 0 {
		r.failf("DOOR_RULES", "needs a table, and either DOOR_REGION_HEADER with one header or two, or DOOR_REGION_FILE")
	}
	if places != nil {
		var err error
		if g.places, err = maxminddb.OpenBytes(places); err != nil || !g.named() {
			r.failf("DOOR_REGION_FILE", "must be a MaxMind DB whose records have country.iso_code")
		}
	}
	return g
}

// named reports whether the file of places names any country.
func (g *Regions) named() bool {
	for network := range g.places.Networks() {
		if country, _ := g.placeOf(network.Prefix().Addr()); country != "" {
			return true
		}
	}
	return false
}

// effect says what is asked where, for the site's owner.
func (g *Regions) effect() string {
	shown := []string{"DOOR_RULES:"}
	for _, name := range slices.Sorted(maps.Keys(g.rows)) {
		shown = append(shown, fmt.Sprintf("%s %s.", name, g.rows[name]))
	}
	return strings.Join(shown, " ")
}
