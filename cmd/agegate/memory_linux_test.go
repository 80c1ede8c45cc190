package main

import (
	"bufio"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestCleanMappings(t *testing.T) {
	const smaps = `00400000-00402000 r--p 00000000 fe:00 77        /opt/agegate
Size:                  8 kB
Anonymous:             0 kB
00402000-017fe000 r-xp 00002000 fe:00 77        /opt/agegate
Rss:               16384 kB
Anonymous:             0 kB
02f42000-02f43000 r--p 02b41000 fe:00 77        /opt/agegate
Anonymous:             4 kB
02f43000-0312d000 rw-p 02b42000 fe:00 77        /opt/agegate
Anonymous:             0 kB
0312d000-05158000 rw-p 00000000 00:00 0
Anonymous:             0 kB
7f0000000000-7f0000001000 r--p 00000000 fe:00 78  /opt/agegate.so
Anonymous:             0 kB
`
	got := cleanMappings(bufio.NewScanner(strings.NewReader(smaps)), "/opt/agegate")
	want := []mapping{{0x400000, 0x402000}, {0x402000, 0x17fe000}}
	if !slices.Equal(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
}

// The program continues after its memory was released, and finds it by itself.
func TestReleaseMemory(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if len(cleanMappings(bufio.NewScanner(file), program)) == 0 {
		t.Error("no mapping of the program found")
	}
	releaseMemory()
}
