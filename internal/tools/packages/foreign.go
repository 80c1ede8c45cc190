package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// foreign are Debian's packages for another processor: each is unpacked in a
// directory of its name, next to the file NAME.deb.
type foreign struct{ dir string }

// runtimePackages have the libraries of the gateway and of ONNX Runtime.
var runtimePackages = []string{"libc6", "libgcc-s1", "libstdc++6"}

// fetchForeign downloads the packages for arch from the sources of this machine, and
// unpacks them in dir.
func fetchForeign(dir, arch string) (foreign, error) {
	f := foreign{dir}
	config := filepath.Join(dir, "apt.conf")
	// apt gets a state and a cache of its own: this machine does not have the packages installed.
	const settings = "APT::Architecture %[1]q;\nAPT::Architectures %[1]q;\nDir::State %[2]q;\nDir::Cache %[2]q;\n" +
		"Dir::State::status %[3]q;\nAPT::Sandbox::User \"\";\n"
	text := fmt.Sprintf(settings, arch, filepath.Join(dir, "apt"), filepath.Join(dir, "status"))
	err := errors.Join(os.WriteFile(config, []byte(text), 0o600), os.WriteFile(filepath.Join(dir, "status"), nil, 0o600),
		os.MkdirAll(filepath.Join(dir, "apt/lists/partial"), 0o700),
		os.MkdirAll(filepath.Join(dir, "apt/archives/partial"), 0o700))
	if err != nil {
		return f, err
	}
	for _, args := range [][]string{{"update"}, append([]string{"download"}, runtimePackages...)} {
		cmd := exec.Command("apt-get", append([]string{"--quiet"}, args...)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "APT_CONFIG="+config)
		if out, err := cmd.CombinedOutput(); err != nil {
			return f, fmt.Errorf("apt-get %s for %s: %w\n%s", args[0], arch, err, out)
		}
	}
	for _, pkg := range runtimePackages {
		found, err := filepath.Glob(filepath.Join(dir, pkg+"_*.deb"))
		if err != nil || len(found) != 1 {
			return f, fmt.Errorf("apt-get downloaded %d packages %s", len(found), pkg)
		}
		if err := os.Rename(found[0], f.archive(pkg)); err != nil {
			return f, err
		}
		extract := exec.Command("dpkg-deb", "--extract", f.archive(pkg), filepath.Join(dir, pkg))
		if out, err := extract.CombinedOutput(); err != nil {
			return f, fmt.Errorf("dpkg-deb --extract %s: %w\n%s", pkg, err, out)
		}
	}
	return f, nil
}

func (f foreign) archive(pkg string) string { return filepath.Join(f.dir, pkg+".deb") }

func (f foreign) find(name, triplet string) (library, error) {
	for _, pkg := range runtimePackages {
		for _, dir := range []string{"/lib/" + triplet, "/usr/lib/" + triplet} {
			source := filepath.Join(f.dir, pkg, dir, name)
			if _, err := os.Stat(source); err == nil {
				return library{name, filepath.Join(dir, name), source, pkg}, nil
			}
		}
	}
	return library{}, fmt.Errorf("%s is in none of %s for %s", name, strings.Join(runtimePackages, ", "), triplet)
}

func (f foreign) entry(pkg, format string) (string, error) {
	if pkg == certificates { // the same for every processor
		return thisMachine{}.entry(pkg, format)
	}
	out, err := exec.Command("dpkg-deb", "--show", "--showformat="+format, f.archive(pkg)).Output()
	if err != nil {
		return "", fmt.Errorf("dpkg-deb --show %s: %w", pkg, err)
	}
	return string(out), nil
}
