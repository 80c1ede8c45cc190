package main

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// certificates is the Debian package whose certificates the image trusts.
const certificates = "ca-certificates"

// library is a shared library of Debian.
type library struct {
	name   string // as programs refer to it
	path   string // where Debian installs it
	source string // path on this machine
	pkg    string // Debian package that it comes from
}

// triplets name Debian's library directories.
var triplets = map[elf.Machine]string{elf.EM_X86_64: "x86_64-linux-gnu", elf.EM_AARCH64: "aarch64-linux-gnu"}

// needs are the modules in the programs, and the Debian packages that the gateway and
// its ONNX Runtime depend on.
type needs struct {
	modules   []dependency    // linked into the programs
	libraries []library       // by name
	glibc     string          // the newest version that they need themselves
	packages  []debianPackage // of the libraries and of the certificates, sorted by name
	vendor    string          // distribution of the packages: debian or ubuntu
}

// source has the packages of a Debian system.
type source interface {
	// find looks for a library where Debian's loader does.
	find(name, triplet string) (library, error)
	// entry returns a package's fields in the format of dpkg-query.
	entry(pkg, format string) (string, error)
}

// lookUp finds what a release needs: on this machine, or in the packages of Debian for
// another processor.
func lookUp(r release, from source) (n needs, err error) {
	if n.modules, err = linkedModules(r); err != nil {
		return n, err
	}
	opened := []string{r.binary, r.runtime}
	if r.name == documents {
		opened = opened[:1]
	}
	if n.libraries, n.glibc, err = linked(from, opened...); err != nil {
		return n, err
	}
	if n.packages, err = debianPackages(from, n.libraries); err != nil {
		return n, err
	}
	text, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return n, err
	}
	n.vendor, err = vendor(text)
	return n, err
}

var vendorID = regexp.MustCompile(`(?m)^ID=["']?([a-z0-9._-]+)["']?$`)

// vendor returns the distribution's ID from an os-release file, as package URLs
// name it.
func vendor(osRelease []byte) (string, error) {
	id := vendorID.FindSubmatch(osRelease)
	if id == nil {
		return "", errors.New("/etc/os-release has no ID")
	}
	return string(id[1]), nil
}

// linked returns the shared libraries that the programs need, directly or not, by
// name, and the newest version of glibc that the programs themselves need.
func linked(from source, programs ...string) ([]library, string, error) {
	found := map[string]library{}
	glibc := []int{0}
	queue := slices.Clone(programs)
	for i := 0; i < len(queue); i++ {
		binary, err := elf.Open(queue[i])
		if err != nil {
			return nil, "", fmt.Errorf("%s: %w", queue[i], err)
		}
		needed, err := binary.ImportedLibraries()
		symbols, symbolsErr := binary.ImportedSymbols()
		if err := errors.Join(err, symbolsErr, binary.Close()); err != nil {
			return nil, "", fmt.Errorf("%s: %w", queue[i], err)
		}
		for _, s := range symbols {
			if v := glibcVersion(s.Version); i < len(programs) && slices.Compare(v, glibc) > 0 {
				glibc = v
			}
		}
		for _, name := range needed {
			if _, known := found[name]; known {
				continue
			}
			l, err := from.find(name, triplets[binary.Machine])
			if err != nil {
				return nil, "", err
			}
			found[name] = l
			queue = append(queue, l.source)
		}
	}
	var all []library
	for _, l := range found {
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b library) int { return strings.Compare(a.name, b.name) })
	return all, strings.ReplaceAll(strings.Trim(fmt.Sprint(glibc), "[]"), " ", "."), nil
}

// glibcVersion returns the numbers of a symbol such as GLIBC_2.34, or nil for any
// other symbol.
func glibcVersion(symbol string) []int {
	text, ok := strings.CutPrefix(symbol, "GLIBC_")
	if !ok {
		return nil
	}
	var numbers []int
	for part := range strings.SplitSeq(text, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil // for example GLIBC_PRIVATE
		}
		numbers = append(numbers, n)
	}
	return numbers
}

// thisMachine is the Debian on which packages are made.
type thisMachine struct{}

func (thisMachine) find(name, triplet string) (library, error) {
	for _, dir := range []string{"/lib/" + triplet, "/usr/lib/" + triplet} {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err != nil {
			continue
		}
		pkg, err := packageOf(path)
		return library{name, path, path, pkg}, err
	}
	return library{}, fmt.Errorf("%s is not on this machine, on which packages are made: it has to be Debian or Ubuntu",
		name)
}

func (thisMachine) entry(pkg, format string) (string, error) {
	out, err := exec.Command("dpkg-query", "--show", "--showformat="+format, pkg).Output()
	if err != nil {
		return "", fmt.Errorf("dpkg-query --show %s: %w", pkg, err)
	}
	return string(out), nil
}

// packageOf returns the Debian package of a file.
func packageOf(path string) (string, error) {
	// Some packages still list their files without the /usr to which /lib is
	// linked.
	out, err := exec.Command("dpkg-query", "--search", path).Output()
	if err != nil {
		out, err = exec.Command("dpkg-query", "--search", "/usr"+path).Output()
	}
	if err != nil {
		return "", fmt.Errorf("no package of Debian has the file %s: %w", path, err)
	}
	name, _, _ := strings.Cut(string(out), ":")
	return name, nil
}

// debianPackage is a package of which the image has files.
type debianPackage struct {
	name, version string
	status        []byte // its entry in dpkg's database
}

// debianPackages returns the packages of the libraries and of the certificates,
// by name.
func debianPackages(from source, libraries []library) ([]debianPackage, error) {
	names := []string{certificates}
	for _, l := range libraries {
		names = append(names, l.pkg)
	}
	slices.Sort(names)
	var packages []debianPackage
	for _, name := range slices.Compact(names) {
		const format = `Package: ${Package}\nStatus: install ok installed\nMaintainer: ${Maintainer}\nArchitecture: ${Architecture}\nSource: ${source:Package}\nVersion: ${Version}\n\n`
		entry, err := from.entry(name, format)
		if err != nil {
			return nil, err
		}
		status, _, _ := strings.Cut(entry, "\n\n") // the first architecture's entry
		_, version, _ := strings.Cut(status, "\nVersion: ")
		packages = append(packages, debianPackage{name, version, []byte(status + "\n")})
	}
	return packages, nil
}
