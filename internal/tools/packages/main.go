// Command packages packs a compiled agegate and its door, the models and ONNX Runtime into a
// Debian package and an OCI image, and the programs alone into others. A bill of materials
// for each and checksums are next to them. The same inputs give the same bytes. It is a
// separate module, so that the gateway does not depend on its libraries.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// The packages and images of a release.
const (
	full      = "agegate"
	documents = "agegate-documents" // without models and ONNX Runtime; its estimator is off
)

// release is what to package, and where to write it.
type release struct {
	name       string    // full or documents
	root       string    // root directory of the repository
	binary     string    // path of the compiled gateway
	door       string    // path of the compiled door
	arch       string    // processor, as Go and Debian name it
	runtime    string    // path of ONNX Runtime for it; empty if the package has no models
	out        string    // directory to write the files to
	version    string    // the output of git describe, or the newest release with the time and name of the commit
	revision   string    // the commit's hash
	time       time.Time // time of the commit; used for every time in the files
	maintainer string    // of the Debian package, as NAME <ADDRESS>
}

// path returns the path of a release file with the given extension.
func (r release) path(extension string) string {
	return filepath.Join(r.out, r.name+"_"+debianVersion(r.version, r.time)+"_"+r.arch+extension)
}

func main() {
	var r release
	var epoch int64
	flag.StringVar(&r.root, "root", "../../..", "root of the repository")
	flag.StringVar(&r.binary, "binary", "../../../dist/agegate", "the compiled gateway")
	flag.StringVar(&r.door, "door", "../../../dist/agegate-door", "the compiled door")
	flag.StringVar(&r.arch, "arch", runtime.GOARCH, "processor: amd64 or arm64")
	flag.StringVar(&r.out, "out", "../../../dist", "directory to write to")
	flag.StringVar(&r.version, "version", "", "version of the gateway")
	flag.StringVar(&r.revision, "revision", "", "hash of the commit")
	flag.Int64Var(&epoch, "epoch", 0, "time of the commit, in seconds since 1970")
	flag.StringVar(&r.maintainer, "maintainer", "", "maintainer of the Debian package, NAME <ADDRESS>")
	flag.Parse()
	r.time = time.Unix(epoch, 0).UTC()
	if err := run(r, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "packages:", err)
		os.Exit(1)
	}
}

// run builds the given kinds of packages, with models and without, and the checksums.
func run(r release, kinds []string) error {
	if r.version == "" || r.time.Unix() == 0 || len(kinds) == 0 {
		return errors.New("usage: packages -version VERSION -epoch SECONDS [-maintainer WHO] deb|image")
	}
	from := source(thisMachine{})
	onnx := filepath.Join(r.root, "models/libonnxruntime.so.1")
	if r.arch != runtime.GOARCH {
		dir, err := os.MkdirTemp("", "agegate-debian-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		if from, err = fetchForeign(dir, r.arch); err != nil {
			return err
		}
		platform := map[string]string{"amd64": "x64", "arm64": "arm64"}[r.arch]
		onnx = filepath.Join(r.root, "node_modules/onnxruntime-node/bin/napi-v6/linux", platform, "libonnxruntime.so.1")
	}
	for r.name, r.runtime = range map[string]string{full: onnx, documents: ""} {
		if err := pack(r, from, kinds); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	return writeSums(r)
}

// pack builds the given kinds of one package, and its bill of materials.
func pack(r release, from source, kinds []string) error {
	debian, err := lookUp(r, from)
	if err != nil {
		return err
	}
	builders := map[string]func(release, needs) error{"deb": buildDeb, "image": buildImage}
	for _, kind := range kinds {
		build, known := builders[kind]
		if !known {
			return fmt.Errorf("%q is neither deb nor image", kind)
		}
		if err := build(r, debian); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
	}
	if err := writeSBOM(r, debian); err != nil {
		return fmt.Errorf("bill of materials: %w", err)
	}
	return nil
}
