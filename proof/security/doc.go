// Package security attacks a running gateway and counts the results: fuzzed
// requests with a canary in every field, foreign sessions, spellings of hosts,
// forged tokens and deliveries, slow and huge clients, requests made to cost
// processor time, camera streams that stay open or flood the models, and a search
// of the log and the database for secrets.
//
//	go test ./proof/security                      a short form of each
//	cd proof/security && go test -args -full      every attack at full size
//
// Everything stays on the loopback interface. Time limits apply in the full run
// only, see package table. Limits of processor time apply in the short form too.
package security
