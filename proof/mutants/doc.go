// Package mutants runs the conformance suite against the gateway, where every
// case must pass, and against gateways that are each wrong in one way, where the
// case that tests for it must fail. The wrong ones are the real gateway behind a
// proxy that changes one thing of its requests, answers or deliveries.
//
//	go test ./proof/mutants               SQLite
//	go test ./proof/mutants -args -full   PostgreSQL too
package mutants
