# Attacks on the gateway, and the fuzzers of its parsers.

.PHONY: security model fuzz

security: deps models ## attack the gateway, print what was measured and fail on any miss (under 10 minutes)
	cd internal/proof/security && go test -timeout 15m -args -full

model: deps ## live many random lives of sessions on both databases, beside a model
	go test -count=1 -timeout 20m -run 'TestSessionLife/sqlite' ./internal/session -rapid.checks=2000
	go test -count=1 -timeout 20m -run 'TestSessionLife/postgres' ./internal/session -rapid.checks=300

FUZZTIME ?= 30s

# New inputs that reach new code are kept small for a moment only: by default
# Go spends a minute on each, in which nothing else is tried.
fuzz: ## fuzz the parsers of foreign input, FUZZTIME each
	@set -e; for target in \
		contract:FuzzDecodeJSON tenant:FuzzCallbackRule credential:FuzzVerifyRedirectToken credential:FuzzRedirectURL \
		credential:FuzzParseAPIKey webhook:FuzzVerify age:FuzzParseFrame vision:FuzzDecode; do \
		echo "== $$target"; \
		go test -run '^$$' -fuzz "^$${target#*:}$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x ./internal/$${target%:*}; \
	done
