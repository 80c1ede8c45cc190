// Package chaos breaks a running gateway and keeps accounts: what was
// acknowledged must be found again, and every event must arrive. Its tests run
// the real binary on real databases, with faults from the outside only.
//
//	go test ./internal/proof/chaos                  a few of each fault
//	go test -v ./internal/proof/chaos -args -full   every fault at full size
//
// Marks of time hold in the full run only, see package report. Linux only.
package chaos
