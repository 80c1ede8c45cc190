package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
)

// TestCompose: the file is valid by Compose's schema, names the missing settings,
// and matches the image.
func TestCompose(t *testing.T) {
	load := func(env ...string) (*cli.ProjectOptions, error) {
		return cli.NewProjectOptions([]string{"../../../deploy/compose.yaml"}, cli.WithEnv(env))
	}
	options, err := load()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := options.LoadProject(context.Background()); err == nil ||
		!strings.Contains(err.Error(), "is missing a value") {
		t.Errorf("without variables: %v", err)
	}
	options, err = load("AGEGATE_VERSION=1.0.0", "AGEGATE_BASE_URL=https://age.example.com", "AGEGATE_SECRET_KEY=key",
		"POSTGRES_PASSWORD=word")
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	gateway, database := project.Services["agegate"], project.Services["database"]
	if gateway.Image != "agegate:"+imageTag("v1.0.0") || !gateway.ReadOnly ||
		!slices.Equal(gateway.CapDrop, []string{"ALL"}) {
		t.Errorf("the gateway is %+v", gateway)
	}
	for name, service := range project.Services {
		if !slices.Equal(service.CapDrop, []string{"ALL"}) ||
			!slices.Contains(service.SecurityOpt, "no-new-privileges:true") {
			t.Errorf("%s drops %v and has the options %v", name, service.CapDrop, service.SecurityOpt)
		}
	}
	if test := strings.Join(gateway.HealthCheck.Test, " "); test != "CMD /usr/bin/agegate health" {
		t.Errorf("the health check is %s", test)
	}
	if gateway.Ports[0].Target != 8080 || gateway.Ports[0].HostIP != "127.0.0.1" {
		t.Errorf("the ports are %+v", gateway.Ports)
	}
	operations := documented(t)
	for setting := range gateway.Environment {
		if !strings.Contains(operations, "| `"+setting+"` |") {
			t.Errorf("%s is no setting", setting)
		}
	}
	major, ok := strings.CutPrefix(database.Image, "postgres:")
	if _, err := strconv.Atoi(major); err != nil || !ok {
		t.Errorf("the database is %s: name a major version", database.Image)
	}
	if url := gateway.Environment["AGEGATE_DATABASE_URL"]; url == nil ||
		*url != "postgres://agegate:word@database/agegate?sslmode=disable" ||
		*database.Environment["POSTGRES_USER"] != "agegate" {
		t.Errorf("the gateway connects to %v", url)
	}
}

// TestComposePage: the file .env that docs/operations/compose.md makes, and with it both files of Compose, give a
// gateway that serves https itself. Ports of the host lead to its listeners.
func TestComposePage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/operations/compose.md")
	made := regexp.MustCompile("(?s)cat >.env <<END\n.*?\nEND\n").Find(page)
	dir := t.TempDir()
	paths := []string{filepath.Join(dir, "compose.yaml"), filepath.Join(dir, "tls.yaml")}
	cmd := exec.Command("sh", "-euc", string(made))
	cmd.Dir = dir
	output(t, cmd)
	for _, path := range paths {
		output(t, exec.Command("cp", "../../../deploy/"+filepath.Base(path), path))
	}
	options, optionsErr := cli.NewProjectOptions(paths, cli.WithWorkingDirectory(dir), cli.WithEnvFiles(), cli.WithDotEnv)
	if err != nil || optionsErr != nil {
		t.Fatal(err, optionsErr)
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	gateway := project.Services["agegate"]
	operations := documented(t)
	for name, value := range gateway.Environment {
		own := name != "POSTGRES_PASSWORD" && name != "COMPOSE_FILE" && name != "AGEGATE_VERSION"
		if own && !strings.Contains(operations, "| `"+name+"` |") || value == nil || *value == "" {
			t.Errorf("%s is no setting, or empty", name)
		}
	}
	listeners := map[string]uint32{}
	for _, port := range gateway.Ports {
		listeners[port.Published] = port.Target
	}
	if key := *gateway.Environment["AGEGATE_SECRET_KEY"]; len(key) != 44 || len(listeners) != 2 ||
		*gateway.Environment["AGEGATE_LISTEN"] != fmt.Sprintf(":%d", listeners["443"]) ||
		*gateway.Environment["AGEGATE_HTTP_LISTEN"] != fmt.Sprintf(":%d", listeners["80"]) {
		t.Errorf("the ports are %v, a key has %d characters", listeners, len(key))
	}
}
