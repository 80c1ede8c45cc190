package app_test

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"agegate/internal/gatewaytest"
)

// TestSystemd: the gateway tells systemd when it is ready, while it runs, and before it ends.
func TestSystemd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	_ = socket.SetReadDeadline(time.Now().Add(2 * time.Minute))
	told := func(want string) {
		t.Helper()
		message := make([]byte, 100)
		for {
			n, err := socket.Read(message)
			if err != nil {
				t.Fatalf("systemd is not told %s: %v", want, err)
			}
			if string(message[:n]) == want {
				return
			}
		}
	}
	t.Setenv("NOTIFY_SOCKET", path)
	t.Setenv("WATCHDOG_PID", strconv.Itoa(os.Getpid()))
	t.Setenv("WATCHDOG_USEC", "20000")
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	told("READY=1")
	told("WATCHDOG=1")
	told("WATCHDOG=1")
	g.Stop()
	told("STOPPING=1")
}
