package conformance

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"agegate"

	"go.yaml.in/yaml/v3"
)

// reasons are why no case can look at a sentence: it is not visible from outside, because
// of this.
var reasons = map[string]string{
	"merchant": "the merchant's program or the shopper does it, and not the gateway",
	"meaning":  "it says what a word stands for, and promises nothing",
	"camera":   "it needs a camera and a person",
	"operator": "only the operator can cause it or see it",
	"long":     "it takes hours or days",
	"fault":    "no request may cause it",
	"later":    "it is about later editions of the contract",
}

const table = "testdata/sentences.tsv"

// TestEverySentence: each sentence of the contract has a case of the suite or a reason
// why there can be none, in the table; so has each further rule there, below a line of
// its own. `make verify` runs it.
func TestEverySentence(t *testing.T) {
	text, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, c := range (&Options{Draws: 1}).cases() {
		names[c.Name] = true
	}
	told := map[string]bool{}
	used := map[string]bool{}
	contract := true
	for line := range strings.Lines(string(text)) {
		answer, sentence, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		switch {
		case strings.HasPrefix(line, "#"):
			contract = contract && !strings.HasPrefix(line, "# Further")
			continue
		case !ok || sentence == "":
			t.Fatalf("%s: %q is not an answer, a tab and a sentence", table, line)
		case told[sentence]:
			t.Errorf("the table has twice: %s", sentence)
		}
		told[sentence] = contract
		for name := range strings.SplitSeq(answer, " ") {
			if used[name] = true; !names[name] && reasons[name] == "" {
				t.Errorf("%q is neither a case nor a reason: %s", name, sentence)
			}
		}
	}
	said := sentences(t)
	for _, sentence := range said {
		if !told[sentence] {
			t.Errorf("no case and no reason for: %s", sentence)
		}
	}
	for sentence, contract := range told {
		if contract && !slices.Contains(said, sentence) {
			t.Errorf("the contract does not say: %s", sentence)
		}
	}
	for name := range names {
		if !used[name] && !strings.HasPrefix(name, "random.") {
			t.Errorf("no sentence names the case %s", name)
		}
	}
}

// sentences returns what the descriptions of the contract say, each sentence and each row
// of a table once.
func sentences(t *testing.T) (all []string) {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal(agegate.OpenAPI, &doc); err != nil {
		t.Fatal(err)
	}
	var walk func(*yaml.Node)
	walk = func(n *yaml.Node) {
		for i, child := range n.Content {
			key := ""
			if n.Kind == yaml.MappingNode && i%2 == 1 {
				key = n.Content[i-1].Value
			}
			switch {
			case key == "example" || key == "examples":
			case key == "description" && child.Kind == yaml.ScalarNode:
				for _, s := range split(child.Value) {
					if !slices.Contains(all, s) {
						all = append(all, s)
					}
				}
			default:
				walk(child)
			}
		}
	}
	walk(&doc)
	return all
}

var (
	fenced  = regexp.MustCompile("(?s)```.*?```")
	rule    = regexp.MustCompile(`^\|[-| ]+\|$`)
	marker  = regexp.MustCompile(`^(\d+\.|-) `)
	endMark = regexp.MustCompile("[.:!?] +[A-Z`*(]")
)

// split returns the sentences and the rows of tables of a description in Markdown.
func split(markdown string) (found []string) {
	var paragraph string
	end := func() {
		rest := strings.Join(strings.Fields(paragraph), " ")
		for rest != "" {
			at := endMark.FindStringIndex(rest)
			if at == nil {
				found = append(found, rest)
				break
			}
			found, rest = append(found, rest[:at[0]+1]), rest[at[1]-1:]
		}
		paragraph = ""
	}
	for line := range strings.Lines(fenced.ReplaceAllString(markdown, "\n")) {
		line = strings.TrimSpace(line)
		switch {
		case line == "", strings.HasPrefix(line, "#"):
			end()
		case rule.MatchString(line): // between the names of the columns and the rows
		case strings.HasPrefix(line, "|"):
			end()
			found = append(found, line)
		case marker.MatchString(line):
			end()
			paragraph = marker.ReplaceAllString(line, "")
		default:
			paragraph += " " + line
		}
	}
	end()
	return found
}
