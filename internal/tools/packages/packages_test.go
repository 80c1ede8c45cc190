package main

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// work is a directory that the tests share.
var work string

func TestMain(m *testing.M) {
	var err error
	if work, err = os.MkdirTemp("", "agegate-packages-"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(work)
	os.Exit(code)
}

// sample returns a release of the binary that `make dist/agegate` compiled.
func sample(version, out string) release {
	return release{
		name: full, arch: runtime.GOARCH,
		root: "../../..", binary: "../../../dist/agegate", door: "../../../dist/agegate-door",
		out: filepath.Join(work, out), version: version, revision: "0123456789abcdef0123456789abcdef01234567",
		time: time.Unix(1_800_000_000, 0).UTC(), maintainer: "agegate <noreply@agegate.invalid>",
	}
}

// first builds the packages and the images that the tests examine.
var first = sync.OnceValues(func() (release, error) {
	r := sample("v1.0.0", "first")
	return r, run(r, []string{"deb", "image"})
})

func built(t *testing.T) release {
	t.Helper()
	r, err := first()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// needRoot fails the test if it cannot create file systems and users.
func needRoot(t *testing.T, programs ...string) {
	t.Helper()
	for _, name := range programs {
		if _, err := exec.LookPath(name); err != nil {
			t.Fatalf("there is no %s here: run make deps", name)
		}
	}
	if os.Geteuid() != 0 {
		t.Fatal("this test mounts file systems and starts an operating system: run make test-install as root, or where " +
			"sudo asks for no password")
	}
}

func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", cmd, err, &stdout, &stderr)
	}
	return stdout.String()
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// until waits for a condition.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for limit := time.Now().Add(2 * time.Minute); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// process is a gateway that a test runs.
type process struct {
	*exec.Cmd
	t     *testing.T
	log   *bytes.Buffer
	ended chan error
}

// serve starts a gateway, and waits until it is ready at url.
func serve(t *testing.T, cmd *exec.Cmd, url string) process {
	t.Helper()
	p := process{cmd, t, &bytes.Buffer{}, make(chan error, 1)}
	cmd.Stdout, cmd.Stderr = p.log, p.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.ended <- cmd.Wait() }()
	until(t, "the image serves", func() bool {
		if len(p.ended) > 0 {
			t.Fatalf("it ended: %v\n%s", <-p.ended, p.log)
		}
		return status(url+"/readyz") == 200
	})
	return p
}

// stop ends the gateway as an operator does.
func (p process) stop() {
	p.t.Helper()
	if err := p.Process.Signal(os.Interrupt); err != nil {
		p.t.Error(err)
	}
	if err := <-p.ended; err != nil {
		p.t.Errorf("the end: %v\n%s", err, p.log)
	}
}

func status(url string) int {
	res, err := http.Get(url)
	if err != nil {
		return 0
	}
	res.Body.Close()
	return res.StatusCode
}

// shop is a tenant of the gateway at url.
type shop struct {
	t        *testing.T
	url, key string
}

// newShop creates a tenant with the operator's command.
func newShop(t *testing.T, url string, agegate func(args ...string) *exec.Cmd) shop {
	t.Helper()
	out := output(t, agegate("tenant", "create", "--name", "Corner Cellar", "--success-url", "https://shop.example/ok",
		"--cancel-url", "https://shop.example/back", "--json"))
	var created struct {
		Keys struct {
			Live string `json:"live"`
		} `json:"api_keys"`
	}
	if err := json.Unmarshal([]byte(out), &created); err != nil {
		t.Fatal(err)
	}
	return shop{t, url, created.Keys.Live}
}

func (s shop) call(method, path, body string, code int, to any) {
	s.t.Helper()
	req, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("X-API-Key", s.key)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != code || json.Unmarshal(text, to) != nil {
		s.t.Fatalf("%s %s: %d %s, %v", method, path, res.StatusCode, text, err)
	}
}

// margin is how many years the estimate must be above the target age. The sample
// face is estimated at 20 to 23, which is above the 16 that a check then
// requires.
const margin = "AGEGATE_AGE_MARGIN=3"

// check takes a live session, whose outcome cannot be forced, through the camera
// check in a browser that films the sample face. It returns the session's ID.
func (s shop) check() string {
	s.t.Helper()
	var session struct {
		ID   string `json:"session_id"`
		Link string `json:"verification_url"`
	}
	s.call(http.MethodPost, "/api/v1/sessions/create", `{"target_age":13}`, http.StatusCreated, &session)
	start := time.Now()
	output(s.t, exec.Command("node", "../../../proof/e2e/visit.mjs", session.Link))
	s.t.Logf("a check took %.0f s with the browser's start", time.Since(start).Seconds())
	s.passed(session.ID)
	return session.ID
}

// passed looks up the session and checks that it passed.
func (s shop) passed(id string) {
	s.t.Helper()
	var session struct{ Status string }
	s.call(http.MethodGet, "/api/v1/sessions/"+id+"/status", "", http.StatusOK, &session)
	if session.Status != "PASSED" {
		s.t.Fatalf("the session is %s", session.Status)
	}
}

// TestReproducible: building the same commit in another place gives the same
// binary, and packages of the same binary are equal.
func TestReproducible(t *testing.T) {
	t.Parallel()
	one, other := built(t), sample("v1.0.0", "other")
	if err := run(other, []string{"deb", "image"}); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(one.out)
	if err != nil || len(entries) != 7 {
		t.Fatalf("%v, %v", entries, err)
	}
	for _, entry := range entries {
		same(t, filepath.Join(one.out, entry.Name()), filepath.Join(other.out, entry.Name()))
	}
	sums := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")
	sums.Dir = one.out
	if out := output(t, sums); strings.Count(out, ": OK\n") != 6 {
		t.Errorf("checksums: %s", out)
	}

	tree := filepath.Join(work, "elsewhere")
	sources := exec.Command("git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others",
		"--exclude-standard")
	sources.Dir = one.root
	for name := range strings.SplitSeq(strings.TrimRight(output(t, sources), "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join(one.root, name))
		if os.IsNotExist(err) {
			continue // the file was deleted, but the deletion is not committed yet
		}
		path := filepath.Join(tree, name)
		if err != nil || os.MkdirAll(filepath.Dir(path), 0o755) != nil || os.WriteFile(path, data, 0o600) != nil {
			t.Fatalf("copying %s: %v", name, err)
		}
	}
	version := strings.Fields(output(t, exec.Command(one.binary, "version")))[1]
	output(t, exec.Command("make", "-C", tree, "dist/agegate", "VERSION="+version))
	same(t, one.binary, filepath.Join(tree, "dist/agegate"))
}

// TestHardened: the programs load at an address of chance, and resolve their symbols
// before they start, so that the table of addresses can be read-only.
func TestHardened(t *testing.T) {
	r := sample("", "")
	for _, path := range []string{r.binary, r.door} {
		binary, err := elf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		flags, err := binary.DynValue(elf.DT_FLAGS_1)
		want := elf.DF_1_PIE | elf.DF_1_NOW
		if err != nil || len(flags) != 1 || elf.DynFlag1(flags[0])&want != want {
			t.Errorf("%s: its flags are %v, %v", path, flags, err)
		}
		binary.Close()
	}
}

func same(t *testing.T, one, other string) {
	t.Helper()
	a, err := os.ReadFile(one)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	if sha256.Sum256(a) != sha256.Sum256(b) {
		t.Errorf("%s: %d and %d bytes, which differ", filepath.Base(one), len(a), len(b))
	}
}

// TestDebianVersion: the versions are valid, and dpkg sorts them in this order.
func TestDebianVersion(t *testing.T) {
	at := sample("", "").time
	var before string
	for _, described := range []string{"63fc81c", "v1.2.0-rc1", "v1.2.0", "v1.2.0-3-g63fc81c", "v1.2.0-3-g63fc81c-dirty",
		"v1.2.0+20261126164121.03ca2f8d", "v1.2.0+20261126164121.03ca2f8d-dirty", "v1.3.0"} {
		v := debianVersion(described, at)
		if out, err := exec.Command("dpkg", "--validate-version", v).CombinedOutput(); err != nil {
			t.Errorf("%s: %s is no version: %s", described, v, out)
		}
		if before != "" && exec.Command("dpkg", "--compare-versions", before, "lt", v).Run() != nil {
			t.Errorf("%s does not come after %s", v, before)
		}
		before = v
	}
	if a, b := debianVersion("aaaa", at), debianVersion("0b0b0b0", at.Add(time.Second)); exec.Command("dpkg",
		"--compare-versions", a, "lt", b).Run() != nil {
		t.Errorf("%s does not come after %s", b, a)
	}
}

// TestVendor: a package's URL names the distribution on which the packages are
// built.
func TestVendor(t *testing.T) {
	for _, tt := range []struct{ osRelease, want string }{
		{"PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nVERSION_ID=\"12\"\nID=debian\n", "debian"},
		{"NAME=\"Ubuntu\"\nID=ubuntu\nID_LIKE=debian\n", "ubuntu"},
		{"ID_LIKE=debian\nID=\"raspbian\"\n", "raspbian"},
		{"ID_LIKE=debian\n", ""},
	} {
		if got, err := vendor([]byte(tt.osRelease)); got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("of %q: %q, %v", tt.osRelease, got, err)
		}
	}
}

// TestSBOM: the bill of materials names every module, model and library, with the
// digest of each file shipped with the binary.
func TestSBOM(t *testing.T) {
	r := built(t)
	var bom struct {
		SpecVersion string
		Components  []struct {
			Name, PURL string
			Hashes     []struct{ Content string }
			Licenses   []struct{ License struct{ ID, Name string } }
		}
	}
	if err := readJSON(r.path(".cdx.json"), &bom); err != nil {
		t.Fatal(err)
	}
	digests, licences := map[string]string{}, map[string]string{}
	for _, c := range bom.Components {
		if len(c.Licenses) == 0 {
			t.Errorf("%s has no licence", c.Name)
		}
		for _, l := range c.Licenses {
			licences[c.Name] += l.License.ID + l.License.Name + " "
		}
		digests[c.Name] = c.PURL
		if len(c.Hashes) > 0 {
			digests[c.Name] = c.Hashes[0].Content
		}
	}
	// os-release is a shell file by its specification
	out, err := exec.Command("sh", "-c", `. /etc/os-release && printf %s "$ID"`).Output()
	if err != nil {
		t.Fatal(err)
	}
	id := string(out)
	for name, prefix := range map[string]string{
		"std": "pkg:golang/std@1.", "gorm.io/gorm": "pkg:golang/gorm.io/gorm@v", "libc6": "pkg:deb/" + id + "/libc6@",
		"libstdc++6": "pkg:deb/" + id, "ca-certificates": "pkg:deb/" + id,
	} {
		if !strings.HasPrefix(digests[name], prefix) {
			t.Errorf("%s is %q", name, digests[name])
		}
	}
	for name, want := range map[string]string{
		"std": "BSD-3-Clause GooglePatentsFile ", "gorm.io/gorm": "MIT ", "libonnxruntime.so.1": "MIT ",
	} {
		if licences[name] != want {
			t.Errorf("the licences of %s are %q", name, licences[name])
		}
	}
	models := os.DirFS(filepath.Join(r.root, "models"))
	names, err := fs.Glob(models, "*.onnx")
	if err != nil || len(names) < 6 {
		t.Fatalf("%d models, %v", len(names), err)
	}
	for _, name := range append(names, "libonnxruntime.so.1") {
		data, err := fs.ReadFile(models, name)
		if err != nil || digests[name] != fmt.Sprintf("%x", sha256.Sum256(data)) {
			t.Errorf("%s is %q, %v", name, digests[name], err)
		}
	}
}
