package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
)

var (
	sinceTag = regexp.MustCompile(`-(\d+)-g([0-9a-f]+)`)
	notDeb   = regexp.MustCompile(`[^0-9A-Za-z.+~]`)
)

// debianVersion converts the output of git describe to a version that Debian
// sorts in the expected order: v1.2.0-rc1 before v1.2.0, before v1.2.0-3-gabc. A
// commit without an earlier tag sorts before all of them, by its time.
func debianVersion(described string, at time.Time) string {
	v, dirty := strings.CutSuffix(strings.TrimPrefix(described, "v"), "-dirty")
	v = sinceTag.ReplaceAllString(v, "+$1.$2")
	if tagged, _ := regexp.MatchString(`^\d+\.`, v); !tagged {
		v = "0~" + at.Format("20060102150405") + "." + v
	}
	v = notDeb.ReplaceAllString(v, "~")
	if dirty {
		v += "+dirty"
	}
	return v
}

// estimatorOff is the setting of a package without models. withoutModels takes the place
// of the models directory in its environment file.
const (
	estimatorOff  = "AGEGATE_ESTIMATOR=off"
	withoutModels = `# This package has no face models, so no age is estimated from the camera, and documents
# cannot be photographed. A shopper proves an age with a wallet on the phone: create tenants
# with --document-only, and trust issuers (operations/issuers.md).
` + estimatorOff
)

// debFiles returns the files of the Debian package.
func debFiles(r release, debian needs) ([]file, error) {
	program, err := programFiles(r, debian.modules)
	if err != nil {
		return nil, err
	}
	models, err := modelFiles(r)
	if err != nil {
		return nil, err
	}
	texts, err := documentFiles(r)
	if err != nil {
		return nil, err
	}
	manual, err := manualFiles(r)
	if err != nil {
		return nil, err
	}
	changelog, err := debianChangelog(r)
	if err != nil {
		return nil, err
	}
	if changelog, err = compressed(changelog); err != nil {
		return nil, err
	}
	environment, err := os.ReadFile(filepath.Join(r.root, "deploy/debian/agegate.env"))
	if err != nil {
		return nil, err
	}
	if r.name == documents {
		environment = bytes.Replace(environment, []byte("AGEGATE_MODELS_DIR="+modelsDir), []byte(withoutModels), 1)
	}
	all := append(slices.Concat(program, models, texts, manual),
		file{path: "/usr/share/doc/" + r.name + "/changelog.gz", mode: 0o644, data: changelog},
		file{path: "/usr/share/agegate/agegate.env", mode: 0o644, data: environment})
	for path, source := range map[string]string{
		"/usr/lib/systemd/system/agegate.service": "deploy/debian/agegate.service",
		"/usr/share/lintian/overrides/" + r.name:  "deploy/debian/lintian-overrides",
	} {
		if all, err = addFile(all, path, 0o644, r.root, source); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// descriptions say what the packages are for: in a line, and in a paragraph.
var descriptions = map[string]string{
	full: `age-verification gateway
agegate estimates from a shopper's camera whether they appear to be over
an age, and reports to the shop by signed redirect, signed webhook and
status lookup.`,
	documents: `age-verification gateway, for wallets only
agegate asks the wallet on a shopper's phone whether they are over an age,
and reports to the shop by signed redirect, signed webhook and status
lookup. This package is for those who may not use the face models of the
package agegate, or want no camera: it contains neither them nor ONNX
Runtime. It estimates no age, and documents cannot be photographed.`,
}

// buildDeb writes the Debian package. One of the two can be installed at a time.
func buildDeb(r release, debian needs) error {
	all, err := debFiles(r, debian)
	if err != nil {
		return err
	}
	stage, err := os.MkdirTemp("", "agegate-deb-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(stage) }()
	contents, err := stageContents(stage, all)
	if err != nil {
		return err
	}
	other, provides := []string{documents}, []string(nil)
	if r.name == documents {
		other, provides = []string{full}, []string{full}
	}
	scripts := filepath.Join(r.root, "deploy/debian")
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: r.name, Version: debianVersion(r.version, r.time), VersionSchema: "none", Arch: r.arch,
		Section: "web", Priority: "optional", Maintainer: r.maintainer, MTime: r.time, Description: descriptions[r.name],
		Overridables: nfpm.Overridables{
			Depends: dependencies(debian), Suggests: []string{"postgresql"}, Contents: contents,
			Conflicts: other, Replaces: other, Provides: provides,
			Scripts: nfpm.Scripts{
				PostInstall: filepath.Join(scripts, "postinst"), PreRemove: filepath.Join(scripts, "prerm"),
				PostRemove: filepath.Join(scripts, "postrm"),
			},
			// Debian's lintian refuses zstd, and xz takes minutes.
			Deb: nfpm.Deb{Compression: "gzip"},
		},
	})
	if err := nfpm.Validate(info); err != nil {
		return err
	}
	return write(r.path(".deb"), func(out *os.File) error { return deb.Default.Package(info, out) })
}

// stageContents writes the files' data to a directory, from which nfpm reads it.
func stageContents(stage string, all []file) (files.Contents, error) {
	var contents files.Contents
	for i, f := range all {
		content := &files.Content{Source: f.link, Destination: f.path, Type: files.TypeSymlink}
		if f.mode&fs.ModeSymlink == 0 {
			content.Source, content.Type = filepath.Join(stage, strconv.Itoa(i)), files.TypeFile
			content.FileInfo = &files.ContentFileInfo{Owner: "root", Group: "root", Mode: f.mode.Perm()}
			if err := os.WriteFile(content.Source, f.data, 0o600); err != nil {
				return nil, err
			}
		}
		contents = append(contents, content)
	}
	return contents, nil
}

// dependencies returns the packages that the binary and ONNX Runtime need: the C
// library with the newest symbol that they use, their other shared libraries, and
// what the maintainer scripts call.
func dependencies(debian needs) []string {
	depends := []string{"passwd"}
	for _, pkg := range debian.packages {
		if pkg.name == "libc6" {
			pkg.name += " (>= " + debian.glibc + ")"
		}
		depends = append(depends, pkg.name)
	}
	return depends
}

// write writes a file of the release completely, or not at all.
func write(path string, fill func(*os.File) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	out, err := os.CreateTemp(filepath.Dir(path), ".new-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(out.Name()) }() // does nothing once the file was renamed
	if err = fill(out); err != nil {
		return errors.Join(err, out.Close())
	}
	if err = out.Close(); err != nil {
		return err
	}
	if err = os.Chmod(out.Name(), 0o644); err != nil {
		return err
	}
	fmt.Println(filepath.Base(path))
	return os.Rename(out.Name(), path)
}
