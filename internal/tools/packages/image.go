package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// imageUser is the numeric ID of the image's user and group.
const imageUser = 65532

// dataDir is the only directory that the program writes to, and only with SQLite.
const dataDir = "/var/lib/agegate"

// buildImage writes the image as an archive of an OCI layout. Its layers, from
// the one that changes least often: libraries, models, program.
func buildImage(r release, debian needs) error {
	program, err := programFiles(r, debian.modules)
	if err != nil {
		return err
	}
	models, err := modelFiles(r)
	if err != nil {
		return err
	}
	base, err := baseFiles(debian)
	if err != nil {
		return err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, layer := range []struct {
		what  string
		files []file
	}{{"libraries of Debian", base}, {"models and ONNX Runtime", models}, {"agegate " + r.version, program}} {
		if layer.files == nil {
			continue
		}
		if image, err = appendLayer(image, r.time, layer.what, layer.files); err != nil {
			return err
		}
	}
	if image, err = configure(image, r); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "agegate-image-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	oci, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	tag := imageTag(r.version)
	if err := oci.AppendImage(image, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": tag, "io.containerd.image.name": "docker.io/library/" + r.name + ":" + tag,
	}), layout.WithPlatform(v1.Platform{OS: "linux", Architecture: r.arch})); err != nil {
		return err
	}
	if err := addDockerManifest(image, dir, r.name+":"+tag); err != nil {
		return err
	}
	return write(r.path(".oci.tar"), func(out *os.File) error { return archive(out, dir, r.time) })
}

// addDockerManifest adds the file in which a Docker version without OCI layouts
// finds the same blobs.
func addDockerManifest(image v1.Image, dir, tag string) error {
	config, err := image.ConfigName()
	if err != nil {
		return err
	}
	blob := func(h v1.Hash) string { return path.Join("blobs", h.Algorithm, h.Hex) }
	entry := tarball.Descriptor{Config: blob(config), RepoTags: []string{tag}}
	layers, err := image.Layers()
	if err != nil {
		return err
	}
	for _, layer := range layers {
		digest, err := layer.Digest()
		if err != nil {
			return err
		}
		entry.Layers = append(entry.Layers, blob(digest))
	}
	text, err := json.Marshal(tarball.Manifest{entry})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "manifest.json"), text, 0o600)
}

// imageTag converts the output of git describe to a tag.
func imageTag(described string) string {
	return regexp.MustCompile(`[^0-9A-Za-z_.-]`).ReplaceAllString(strings.TrimPrefix(described, "v"), "-")
}

// configure sets how to run the image.
func configure(image v1.Image, r release) (v1.Image, error) {
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS = "linux"
	file.Architecture = r.arch
	file.Created = v1.Time{Time: r.time}
	estimator := "AGEGATE_MODELS_DIR=" + modelsDir
	if r.name == documents {
		estimator = estimatorOff
	}
	file.Config = v1.Config{
		User:       fmt.Sprintf("%d:%d", imageUser, imageUser),
		WorkingDir: dataDir, Volumes: map[string]struct{}{dataDir: {}},
		ExposedPorts: map[string]struct{}{"8080/tcp": {}},
		Env:          []string{"PATH=/usr/bin", estimator, "AGEGATE_DATABASE_URL=sqlite:" + dataDir + "/agegate.db"},
		Entrypoint:   []string{"/usr/bin/agegate"}, Cmd: []string{"serve"},
		// An extension of Docker's image format. Other runtimes take the health
		// check from the deployment.
		Healthcheck: &v1.HealthConfig{Test: []string{"CMD", "/usr/bin/agegate", "health"}, StartPeriod: 30 * time.Second},
		Labels: map[string]string{
			"org.opencontainers.image.title": r.name, "org.opencontainers.image.version": r.version,
			"org.opencontainers.image.revision": r.revision, "org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	return mutate.ConfigFile(image, file)
}

// baseFiles returns the parts of an operating system that the program needs:
// users, trusted certificates, the shared libraries, and, for scanners, the
// packages they come from.
func baseFiles(debian needs) ([]file, error) {
	files := []file{
		{path: "/etc/passwd", mode: 0o644, data: fmt.Appendf(nil,
			"root:x:0:0:root:/:/sbin/nologin\nagegate:x:%d:%d:agegate:%s:/sbin/nologin\n", imageUser, imageUser, dataDir)},
		{path: "/etc/group", mode: 0o644, data: fmt.Appendf(nil, "root:x:0:\nagegate:x:%d:\n", imageUser)},
		{path: "/etc/nsswitch.conf", mode: 0o644, data: []byte("passwd: files\ngroup: files\nhosts: files dns\n")},
		{path: dataDir, mode: fs.ModeDir | 0o750, uid: imageUser},
	}
	trusted, err := readCertificates()
	if err != nil {
		return nil, err
	}
	files = append(files, file{path: "/etc/ssl/certs/ca-certificates.crt", mode: 0o644, data: trusted})
	for _, l := range debian.libraries {
		if files, err = addFile(files, l.path, 0o755, l.source); err != nil {
			return nil, err
		}
		if strings.HasPrefix(l.name, "ld-linux-x86-64") { // programs look for the loader at this path
			files = append(files, file{path: "/lib64/" + l.name, mode: fs.ModeSymlink | 0o777, link: l.path})
		} else if strings.HasPrefix(l.name, "ld-linux-aarch64") {
			files = append(files, file{path: "/lib/" + l.name, mode: fs.ModeSymlink | 0o777, link: l.path})
		}
	}
	for _, pkg := range debian.packages {
		// Scanners look here in images without dpkg.
		files = append(files, file{path: "/var/lib/dpkg/status.d/" + pkg.name, mode: 0o644, data: pkg.status})
		// The same for every processor.
		if files, err = addFile(files, "/usr/share/doc/"+pkg.name+"/copyright", 0o644, "/usr/share/doc", pkg.name,
			"copyright"); err != nil {
			return nil, err
		}
	}
	return addFile(files, "/etc/os-release", 0o644, "/etc/os-release")
}

// readCertificates returns the certificates of Debian's package, without those
// added on this machine.
func readCertificates() ([]byte, error) {
	paths, err := filepath.Glob("/usr/share/ca-certificates/mozilla/*.crt")
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("there are no certificates in /usr/share/ca-certificates: install %s", certificates)
	}
	var all bytes.Buffer
	for _, path := range paths { // sorted
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		all.Write(bytes.TrimSpace(text))
		all.WriteByte('\n')
	}
	return all.Bytes(), nil
}

// appendLayer adds the files as one layer.
func appendLayer(image v1.Image, at time.Time, what string, files []file) (v1.Image, error) {
	var data bytes.Buffer
	if err := writeTar(&data, at, files); err != nil {
		return nil, err
	}
	opener := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data.Bytes())), nil }
	layer, err := tarball.LayerFromOpener(opener, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
	if err != nil {
		return nil, err
	}
	return mutate.Append(image, mutate.Addendum{Layer: layer, MediaType: types.OCILayer,
		History: v1.History{Created: v1.Time{Time: at}, CreatedBy: "make image", Comment: what}})
}

// writeTar writes the files and their parent directories, sorted, all with the
// same time.
func writeTar(out io.Writer, at time.Time, files []file) error {
	entries := map[string]file{}
	for _, f := range files {
		for dir := path.Dir(f.path); dir != "/"; dir = path.Dir(dir) {
			if _, given := entries[dir]; !given {
				entries[dir] = file{path: dir, mode: fs.ModeDir | 0o755}
			}
		}
		entries[f.path] = f
	}
	archive := tar.NewWriter(out)
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		f := entries[name]
		header := &tar.Header{
			Name: strings.TrimPrefix(f.path, "/"), Mode: int64(f.mode.Perm()), Size: int64(len(f.data)), Linkname: f.link,
			Uid: f.uid, Gid: f.uid, ModTime: at, Typeflag: tar.TypeReg, Format: tar.FormatPAX,
		}
		switch {
		case f.mode.IsDir():
			header.Typeflag, header.Name = tar.TypeDir, header.Name+"/"
		case f.link != "":
			header.Typeflag = tar.TypeSymlink
		}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(f.data); err != nil {
			return err
		}
	}
	return archive.Close()
}

// archive writes a directory as a tar of regular files.
func archive(out io.Writer, dir string, at time.Time) error {
	var files []file
	walk := func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		within, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		data, readErr := os.ReadFile(name)
		files = append(files, file{path: "/" + within, mode: 0o644, data: data})
		return errors.Join(err, readErr)
	}
	if err := filepath.WalkDir(dir, walk); err != nil {
		return err
	}
	return writeTar(out, at, files)
}
