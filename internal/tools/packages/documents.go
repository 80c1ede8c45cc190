package main

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// documentFiles returns the documents and the files of deploy/ for what an operator
// runs around the gateway. In docDir, links between them work as in the repository.
func documentFiles(root string) ([]file, error) {
	documents, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		return nil, err
	}
	documents = append(documents, filepath.Join(root, "NOTICE"))
	var files []file
	for _, source := range documents {
		text, err := os.ReadFile(source)
		if err != nil {
			return nil, err
		}
		text = bytes.ReplaceAll(text, []byte("](../"), []byte("]("))
		files = append(files, file{path: docDir + "/" + filepath.Base(source), mode: 0o644, data: text})
	}
	deploy := os.DirFS(filepath.Join(root, "deploy"))
	err = fs.WalkDir(deploy, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name == "debian" || name == "licences" {
			return fs.SkipDir // are in the package elsewhere
		}
		if entry.IsDir() || strings.Contains(name, "_test.") {
			return nil
		}
		files, err = addFile(files, path.Join(docDir, "deploy", name), 0o644, root, "deploy", name)
		return err
	})
	return files, err
}
