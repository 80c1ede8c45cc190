// Package chaos breaks a running gateway and checks that nothing is lost:
// everything acknowledged must be in the database, and every event must arrive.
// Its tests run the real binary on real databases and cause faults only from
// outside.
//
//	go test ./proof/chaos                  a few of each fault
//	go test -v ./proof/chaos -args -full   every fault at full size
//	go test -v ./proof/chaos -run Soak -args -soak 1h
//
// Time limits apply in the full run only, see package table. Linux only.
package chaos
