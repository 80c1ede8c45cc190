//go:build !linux

package main

import "runtime/debug"

// releaseMemory returns the heap's free pages, which only the start needed.
func releaseMemory() { debug.FreeOSMemory() }
