package main

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

var link = regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)

// TestDocuments: the package has what its pages about operations link.
func TestDocuments(t *testing.T) {
	files, err := documentFiles(sample("", ""))
	if err != nil {
		t.Fatal(err)
	}
	packed := map[string]string{}
	for _, f := range files {
		packed[f.path] = string(f.data)
		for dir := path.Dir(f.path); len(dir) > len(docDir); dir = path.Dir(dir) {
			packed[dir] = ""
		}
	}
	links := 0
	for name, text := range packed {
		if !strings.HasPrefix(name, docDir+"/operations") {
			continue
		}
		for _, to := range link.FindAllStringSubmatch(text, -1) {
			links++
			if _, ok := packed[path.Join(path.Dir(name), to[1])]; !ok {
				t.Errorf("the package has no %s, to which %s links", to[1], name)
			}
		}
	}
	if links < 20 {
		t.Errorf("%d links", links)
	}
	for _, name := range []string{"prometheus/alerts.yaml", "grafana/agegate.json", "patroni/haproxy.cfg",
		"kubernetes/overlays/single/kustomization.yaml"} {
		if packed[docDir+"/deploy/"+name] == "" {
			t.Errorf("the package has no deploy/%s", name)
		}
	}
	for name := range packed {
		if strings.Contains(name, "_test.") || strings.Contains(name, "/debian/") {
			t.Errorf("the package has %s", name)
		}
	}
}
