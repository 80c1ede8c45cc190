package main

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

var link = regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)

// TestDocuments: the package has what its operations.md links.
func TestDocuments(t *testing.T) {
	files, err := documentFiles("../../..")
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
	links := link.FindAllStringSubmatch(packed[docDir+"/operations.md"], -1)
	if len(links) < 10 {
		t.Fatalf("%d links", len(links))
	}
	for _, to := range links {
		if _, ok := packed[path.Join(docDir, to[1])]; !ok {
			t.Errorf("the package has no %s", to[1])
		}
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
