// Package mutants runs the conformance suite against the gateway, where every
// case must pass, and against gateways with one fault each, where the case that
// tests for the fault must fail. A faulty gateway is the real one behind a proxy
// that changes one thing in its requests, answers or deliveries.
//
//	go test ./proof/mutants               SQLite
//	go test ./proof/mutants -args -full   PostgreSQL too
package mutants
