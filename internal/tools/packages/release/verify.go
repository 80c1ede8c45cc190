package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// verify checks that the files in dir are those that were sealed, no more and no fewer,
// that the statement is about them, and, with signers, that the signer signed them.
func verify(dir, signers, signer string) error {
	sums, err := os.ReadFile(filepath.Join(dir, Sums))
	if err != nil {
		return err
	}
	if signers != "" {
		err := keygen(bytes.NewReader(sums), "-Y", "verify", "-f", signers, "-I", signer, "-n", namespace,
			"-s", filepath.Join(dir, Signature))
		if err != nil {
			return err
		}
		fmt.Println("signed by", signer)
	} else {
		fmt.Println("no signature was checked: name the allowed signers to check it")
	}
	listed, err := parseSums(string(sums))
	if err != nil {
		return err
	}
	found, err := digests(dir)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(dir, Provenance))
	if err != nil {
		return err
	}
	about, err := subjects(text)
	if err != nil {
		return fmt.Errorf("%s: %w", Provenance, err)
	}
	if err := same(Provenance+" is about", about, found); err != nil {
		return err
	}
	found[Provenance] = digestOf(text)
	if err := same(Sums+" lists", listed, found); err != nil {
		return err
	}
	fmt.Printf("%d files are what %s and %s say\n", len(found), Sums, Provenance)
	return nil
}

// parseSums returns the digests by name of a file that sha256sum(1) would check.
func parseSums(text string) (map[string]string, error) {
	listed := map[string]string{}
	for line := range strings.Lines(text) {
		digest, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if _, twice := listed[name]; !ok || twice || len(digest) != 64 || !filepath.IsLocal(name) {
			return nil, errors.New(Sums + " is damaged")
		}
		listed[name] = digest
	}
	return listed, nil
}

// subjects returns the digests by name of the files that a statement is about.
func subjects(text []byte) (map[string]string, error) {
	var s statement
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	if s.Type != statementType || s.PredicateType != predicateType {
		return nil, errors.New("it is not a statement of provenance")
	}
	about := map[string]string{}
	for _, file := range s.Subject {
		about[file.Name] = file.Digest["sha256"]
	}
	return about, nil
}

// same returns an error that names the first file in which the sets differ.
func same(says string, told, found map[string]string) error {
	all := maps.Clone(told)
	maps.Copy(all, found)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		is, told := found[name], told[name]
		switch {
		case is == "":
			return fmt.Errorf("%s %s, which is not here", says, name)
		case told == "":
			return fmt.Errorf("nothing that %s is %s", says, name)
		case is != told:
			return fmt.Errorf("%s another %s than this one", says, name)
		}
	}
	return nil
}
