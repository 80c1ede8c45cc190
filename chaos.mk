# Faults: kill, starve and cut off the real binary, and audit what it said.

.PHONY: chaos

chaos: deps ## break the running gateway in twelve ways and print what it kept
	go test -count=1 -timeout 20m -v ./internal/proof/chaos -args -full
