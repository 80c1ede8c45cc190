// Command release makes the clients' installable files, seals a directory of release
// files with checksums, a provenance statement and a signature, and verifies such a
// directory offline. Keys are given by the maintainer; none is in the repository.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

// The files that seal a release. Provenance is among the files that Sums lists.
const (
	Sums       = "SHA256SUMS"
	Signature  = Sums + ".sig"
	Provenance = "provenance.json"
)

// namespace is what the signature is for (ssh-keygen(1), -n), so that it says nothing
// about a file of another kind.
const namespace = "agegate-release"

const usage = `usage: release clients -out DIR -root DIR -version VERSION
       release seal -version VERSION -revision COMMIT -key FILE DIR
       release verify [-signers FILE -signer NAME] DIR`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	root := flags.String("root", ".", "root of the repository")
	version := flags.String("version", "", "version of the release, such as v0.3.0")
	revision := flags.String("revision", "", "hash of the commit")
	key := flags.String("key", "", "file with the SSH key that signs; a public key is looked up in the agent")
	signers := flags.String("signers", "", "file of allowed signers, as ssh-keygen(1) describes it")
	signer := flags.String("signer", "", "name of the signer in that file")
	out := flags.String("out", "", "directory to write to")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	dir := filepath.Clean(flags.Arg(0))
	switch {
	case args[0] == "clients" && *out != "" && *version != "":
		return writeClients(*root, *out, *version)
	case args[0] == "seal" && flags.NArg() == 1 && *version != "" && *revision != "" && *key != "":
		return seal(dir, *version, *revision, *key)
	case args[0] == "verify" && flags.NArg() == 1 && (*signers == "") == (*signer == ""):
		return verify(dir, *signers, *signer)
	}
	return errors.New(usage)
}
