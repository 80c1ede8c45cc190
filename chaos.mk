# Faults: kill, starve and disconnect the real binary, and audit its answers.

.PHONY: chaos

chaos: deps ## break the running gateway in fifteen ways and print what was measured
	go test -count=1 -timeout 20m -v ./proof/chaos -args -full
