package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// entry is a file of an archive.
type entry struct {
	name string
	data []byte
}

// writeClients writes the clients for npm, Python and PHP into out, each as a file that
// its package manager installs. The same sources give the same bytes.
func writeClients(root, out, version string) error {
	number := strings.TrimPrefix(version, "v")
	if err := checkNumbers(root, number); err != nil {
		return err
	}
	pack := exec.Command("npm", "pack", "--silent", "--pack-destination", out, filepath.Join(root, "sdk/typescript"))
	if text, err := pack.CombinedOutput(); err != nil {
		return fmt.Errorf("npm pack: %w: %s", err, text)
	}
	wheel, err := pythonWheel(filepath.Join(root, "sdk/python"), number)
	if err != nil {
		return err
	}
	if err := writeZip(filepath.Join(out, "agegate-"+number+"-py3-none-any.whl"), wheel); err != nil {
		return err
	}
	top := "agegate-client-" + number + "/"
	php, err := read(filepath.Join(root, "sdk/php"), top, "composer.json", "README.md", "src/*.php")
	if err != nil {
		return err
	}
	return writeZip(filepath.Join(out, "agegate-php-"+number+".zip"), php)
}

// checkNumbers checks that the clients and their READMEs say the number of the release.
// Between releases they may say that of the last one or the next.
func checkNumbers(root, number string) error {
	if strings.ContainsAny(number, "+-") {
		return nil
	}
	for name, form := range map[string]string{
		"sdk/typescript/package.json": `"version": "%s"`, "sdk/typescript/README.md": "agegate-client-%s.tgz",
		"sdk/python/pyproject.toml": `version = "%s"`, "sdk/python/README.md": "agegate-%s-py3-none-any.whl",
		"sdk/php/README.md": "agegate-php-%s.zip",
	} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		if want := fmt.Sprintf(form, number); !strings.Contains(string(text), want) {
			return fmt.Errorf("%s lacks %s", name, want)
		}
	}
	return nil
}

// pythonWheel returns the files of the wheel of a package of pure Python (the binary
// distribution format of packaging.python.org, version 1.0).
func pythonWheel(dir, version string) ([]entry, error) {
	files, err := read(dir, "", "agegate/*.py", "agegate/py.typed")
	if err != nil {
		return nil, err
	}
	readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		return nil, err
	}
	info := "agegate-" + version + ".dist-info/"
	files = append(files,
		entry{info + "METADATA", fmt.Appendf(nil, "Metadata-Version: 2.1\nName: agegate\nVersion: %s\n"+
			"License: Apache-2.0\nRequires-Python: >=3.9\nDescription-Content-Type: text/markdown\n\n%s", version, readme)},
		entry{info + "WHEEL", []byte("Wheel-Version: 1.0\nGenerator: agegate\nRoot-Is-Purelib: true\nTag: py3-none-any\n")})
	var record bytes.Buffer
	for _, f := range files {
		sum := sha256.Sum256(f.data)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.data))
	}
	fmt.Fprintf(&record, "%sRECORD,,\n", info)
	return append(files, entry{info + "RECORD", record.Bytes()}), nil
}

// read returns the files in dir that match the patterns, their names after prefix.
func read(dir, prefix string, patterns ...string) (files []entry, err error) {
	for _, pattern := range patterns {
		names, err := fs.Glob(os.DirFS(dir), pattern) // sorted
		if err == nil && len(names) == 0 {
			err = fmt.Errorf("there is no %s in %s", pattern, dir)
		}
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				return nil, err
			}
			files = append(files, entry{prefix + name, data})
		}
	}
	return files, nil
}

// writeZip writes an archive whose files have the oldest time that the format knows.
func writeZip(path string, files []entry) error {
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	for _, f := range files {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)}
		header.SetMode(0o644)
		part, err := w.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := part.Write(f.data); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, archive.Bytes(), 0o644)
}
