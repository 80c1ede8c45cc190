# Attacks on the gateway, and the fuzzers of its parsers.

.PHONY: security model fuzz

security: deps models ## attack the gateway, print what was measured and fail on any missed goal (under 10 minutes)
	cd proof/security && go test -timeout 15m -args -full

model: deps ## run many random session histories on both databases, compared with a model
	go test -count=1 -timeout 20m -run 'TestSessionLife/sqlite' ./internal/rules/session -rapid.checks=2000
	go test -count=1 -timeout 20m -run 'TestSessionLife/postgres' ./internal/rules/session -rapid.checks=300

FUZZTIME ?= 30s

# Every fuzz target of the tree, as package:name.
fuzz_targets = $(shell grep -rEo --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' cmd internal | sed -E 's|^(.*)/[^/]+:func |./\1:|' | sort)

# New inputs that reach new code are kept small for a moment only: by default
# Go spends a minute on each, in which nothing else is tried.
fuzz: ## fuzz every parser of foreign input, FUZZTIME each
	@set -e; for target in $(fuzz_targets); do \
		echo "== $$target"; \
		go test -run '^$$' -fuzz "^$${target#*:}$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x "$${target%:*}"; \
	done
