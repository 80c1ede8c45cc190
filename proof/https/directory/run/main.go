// Run is an ACME directory for the browser's tests: run PORT writes one line of
// JSON and ends with its input.
package main

import (
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"
	"strconv"

	"agegate/proof/https/directory"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(args []string) (err error) {
	if len(args) != 1 {
		return errors.New("usage: run PORT")
	}
	port, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "agegate-directory-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	d, err := directory.Start(dir, port, nil)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := json.NewEncoder(os.Stdout).Encode(d); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}
