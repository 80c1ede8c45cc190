# The conformance suite: that the gateway passes it, and that every case can fail.
.PHONY: conformance

conformance: deps models ## test the gateway's answers against the contract on both databases, and show that every case can fail
	go test -count=1 -timeout 15m -v ./proof/mutants -args -full
