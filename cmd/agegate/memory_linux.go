package main

import (
	"bufio"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// releaseMemory returns memory to the kernel that only the start needed: the heap's free pages, and pages of
// the program's own file. If such a page is used again, it is read from the kernel's page cache. Without this
// call, an idle replica of the API would keep 25 MiB of code and tables of the start until memory runs short.
func releaseMemory() {
	debug.FreeOSMemory()
	program, err := os.Executable()
	if err != nil {
		return
	}
	file, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer file.Close() //nolint:errcheck // it was only read
	for _, m := range cleanMappings(bufio.NewScanner(file), program) {
		// An error leaves the pages where they are.
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.start, m.end-m.start, unix.MADV_DONTNEED)
	}
}

// mapping is a range of addresses.
type mapping struct{ start, end uintptr }

// cleanMappings returns the ranges of memory in which a file is mapped read-only and no page was ever changed,
// so that all pages can be read from the file again. It leaves out a range that was changed before it became
// read-only, such as one with relocated addresses. smaps has the format of /proc/pid/smaps, see proc(5).
func cleanMappings(smaps *bufio.Scanner, path string) []mapping {
	var clean []mapping
	var m mapping
	found := false
	for smaps.Scan() {
		fields := strings.Fields(smaps.Text())
		if len(fields) < 2 {
			continue
		}
		if addresses, ok := parseMapping(fields[0]); ok {
			m = addresses
			found = strings.HasPrefix(fields[1], "r-") && strings.HasSuffix(smaps.Text(), " "+path)
			continue
		}
		if found && fields[0] == "Anonymous:" && fields[1] == "0" {
			clean = append(clean, m)
		}
	}
	return clean
}

// parseMapping reads the first field of a mapping: two addresses in hexadecimal.
func parseMapping(text string) (m mapping, ok bool) {
	first, last, ok := strings.Cut(text, "-")
	start, err1 := strconv.ParseUint(first, 16, 64)
	end, err2 := strconv.ParseUint(last, 16, 64)
	return mapping{uintptr(start), uintptr(end)}, ok && err1 == nil && err2 == nil && start < end
}
