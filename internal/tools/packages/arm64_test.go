//go:build arm64image

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestARM64 compiles the programs for arm64, packs them, and starts the image of that
// processor in an emulator.
func TestARM64(t *testing.T) {
	const emulator = "/usr/bin/qemu-aarch64-static"
	needRoot(t, "chroot", emulator)
	r, dist := sample("v1.0.0", "arm64"), filepath.Join(work, "dist-arm64")
	r.arch, r.binary, r.door = "arm64", filepath.Join(dist, "agegate"), filepath.Join(dist, "agegate-door")
	output(t, exec.Command("make", "-C", r.root, "ARCH=arm64", "VERSION="+r.version, "DIST="+dist, r.binary, r.door))
	if err := run(r, []string{"deb", "image"}); err != nil {
		t.Fatal(err)
	}
	field := exec.Command("dpkg-deb", "--field", r.path(".deb"), "Architecture")
	if got := strings.TrimSpace(output(t, field)); got != "arm64" {
		t.Errorf("the package is for %s", got)
	}
	lint(t, r)
	root := filepath.Join(work, "image-arm64")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	config := unpack(t, r, root)
	if config.Architecture != "arm64" {
		t.Errorf("the image is for %s", config.Architecture)
	}
	// The emulator and /proc are what the image does not have.
	output(t, exec.Command("cp", emulator, root+"/emulator"))
	output(t, exec.Command("mkdir", root+"/proc"))
	output(t, exec.Command("mount", "-t", "proc", "proc", root+"/proc"))
	t.Cleanup(func() { output(t, exec.Command("umount", root+"/proc")) })
	address := freeAddress(t)
	cmd := exec.Command("chroot", root, "/emulator", config.Config.Entrypoint[0], "serve")
	cmd.Env = append(config.Config.Env, "AGEGATE_LISTEN="+address, "AGEGATE_BASE_URL=http://"+address, margin,
		"AGEGATE_SECRET_KEY=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
	serve(t, cmd, "http://"+address).stop()
}
