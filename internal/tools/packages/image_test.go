package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// unpack opens the image, checks its digests, and extracts its files to root.
func unpack(t *testing.T, r release, root string) *v1.ConfigFile {
	t.Helper()
	dir := t.TempDir()
	output(t, exec.Command("tar", "-xf", r.path(".oci.tar"), "-C", dir))
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Errorf("the image is not valid: %v", err)
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("%+v, %v", manifest, err)
	}
	image, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag(r.name + ":1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	docker, err := tarball.ImageFromPath(r.path(".oci.tar"), &tag)
	if err != nil {
		t.Fatalf("docker load: %v", err)
	}
	want, err := image.ConfigName()
	if got, dockerErr := docker.ConfigName(); errors.Join(err, dockerErr) != nil || got != want {
		t.Errorf("docker load finds %s, not %s: %v, %v", got, want, err, dockerErr)
	}
	files := mutate.Extract(image)
	defer files.Close()
	tar := exec.Command("tar", "-x", "--same-owner", "-C", root)
	tar.Stdin = files
	output(t, tar)
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// TestImage runs the image as a container would: with its user, a read-only root,
// and a volume for the data. It serves a camera check.
func TestImage(t *testing.T) {
	needRoot(t, "unshare", "nsenter", "chroot")
	r, root := built(t), filepath.Join(work, "image")
	if err := os.MkdirAll(filepath.Join(root, "proc"), 0o755); err != nil { // as runtimes do
		t.Fatal(err)
	}
	config := unpack(t, r, root)
	if got := config.Config.Labels["org.opencontainers.image.revision"]; got != r.revision {
		t.Errorf("the image is of the commit %q", got)
	}
	user := strings.Split(config.Config.User, ":")
	if uid, err := strconv.Atoi(user[0]); err != nil || uid < 1000 || len(user) != 2 {
		t.Fatalf("the user is %q", config.Config.User)
	}
	data := filepath.Join(work, "volume") // new volumes have the owner of their directory in the image
	output(t, exec.Command("cp", "-a", root+dataDir, data))
	for _, name := range []string{"/usr/share/doc/libc6/copyright", "/usr/share/doc/libstdc++6/copyright", docDir +
		"/copyright", docDir + "/licences.txt", "/etc/ssl/certs/ca-certificates.crt"} {
		if info, err := os.Stat(root + name); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}

	address := freeAddress(t)
	environment := append(config.Config.Env, "AGEGATE_LISTEN="+address, "AGEGATE_BASE_URL=http://"+address, margin,
		// the only parts of this process's environment
		"AGEGATE_SECRET_KEY=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "PATH="+os.Getenv("PATH"))
	const mount = `mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && mount --bind "$2" "$1$3" && mount -t proc proc "$1/proc" && shift 3 && exec "$@"`
	run := append([]string{"chroot", "--userspec=" + config.Config.User, root}, config.Config.Entrypoint...)
	cmd := exec.Command("unshare", append([]string{"--mount", "sh", "-ec", mount, "sh", root, data, dataDir},
		append(run, config.Config.Cmd...)...)...)
	cmd.Env = environment
	url := "http://" + address
	gateway := serve(t, cmd, url)
	agegate := func(args ...string) *exec.Cmd {
		inside := append([]string{"--target", strconv.Itoa(gateway.Process.Pid), "--mount"}, run...)
		cmd := exec.Command("nsenter", append(inside, args...)...)
		cmd.Env = environment
		return cmd
	}
	health := config.Config.Healthcheck.Test
	if out := output(t, agegate(health[len(config.Config.Entrypoint)+1:]...)); out != "The gateway is ready.\n" {
		t.Errorf("health says %q", out)
	}
	newShop(t, url, agegate).check()
	if out, err := agegate("migrate", "--database-url", "sqlite:/usr/agegate.db").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "read-only") {
		t.Errorf("the root is not read-only: %s, %v", out, err)
	}

	gateway.stop()
	stopped := exec.Command(run[0], append(run[1:], "health")...)
	stopped.Env = environment
	if out, err := stopped.CombinedOutput(); err == nil || !strings.Contains(string(out), "no gateway answers") {
		t.Errorf("health of a stopped gateway: %s, %v", out, err)
	}
	if entries, err := os.ReadDir(data); err != nil || len(entries) == 0 {
		t.Errorf("the volume holds %v, %v", entries, err)
	}
}
