# agegate. `make run` and `make test` set up what they need; `make` lists all.

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo development)
GOLANGCI := v2.15.0
DEBIAN_PACKAGES := chromium firefox-esr pgbouncer postgresql prometheus python3 php-cli curl sqlite3 fonts-ocr-b ca-certificates mmdebstrap systemd systemd-container
DEBIAN_COMMANDS := chromium firefox-esr pgbouncer promtool python3 php curl sqlite3 mmdebstrap systemd-analyze systemd-nspawn
OCR_B := /usr/share/fonts/opentype/ocr-b/OCRB.otf

# ONNX Runtime is called through C. Go's own stamp of the version, which fails
# in a checkout that belongs to another user, is not used.
export CGO_ENABLED := 1
export GOFLAGS += -buildvcs=false

.DEFAULT_GOAL := help
.PHONY: help run build deps test test-go test-browser marks bench lint lint-pages verify clean

include contract.mk conformance.mk models.mk train.mk document.mk attack.mk chaos.mk security.mk scale.mk packages.mk

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "  %-18s %s\n", $$1, $$2}'

run: build models ## run the gateway and a sample shop
	bin/agegate demo

have-%:
	@command -v $* >/dev/null || { echo "There is no $* here: agegate needs Go, a C compiler, and Node.js 20 or newer with npm." >&2; exit 1; }

build: have-go ## compile bin/agegate
	go build -ldflags '-X main.version=$(VERSION)' -o bin/agegate ./cmd/agegate

deps: ## install what the tests need: PostgreSQL, PgBouncer, Chromium, Firefox, promtool, Python, PHP, curl, sqlite3, the font OCR-B, systemd, mmdebstrap (as root, on Debian)
	@missing=; for command in $(DEBIAN_COMMANDS); do command -v $$command >/dev/null || missing=$$command; done; \
	if [ -z "$$missing" ] && [ -e $(OCR_B) ] && \
		{ command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; }; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $(DEBIAN_PACKAGES); \
	else echo "The tests need these packages: $(DEBIAN_PACKAGES)" >&2; exit 1; fi

test: test-go test-browser test-packages ## run every test: Go on both databases, the browser, then the packages

test-go: deps models $(generators)
	go test -timeout 20m ./...

test-browser: deps models build
	node --test --test-concurrency=1 --test-reporter=spec e2e/*.test.mjs

marks: models deps build ## time honest checks in the browser, on this machine and over a slow network; fail on a miss
	node e2e/marks.mjs

bench: models deps ## run the benchmarks, which print ratios against bare baselines
	go test -run '^$$' -bench . -benchtime 2s ./proof/bench ./internal/rules/session ./internal/check/vision ./internal/edge/contract ./internal/pages/shopper ./internal/check/document/wallet

lint: .tools/golangci-lint node_modules/.package-lock.json lint-openapi lint-pages ## lint the code, the pages' scripts and the contract, and verify what is generated
	.tools/golangci-lint run
	cd internal/tools/packages && ../../../.tools/golangci-lint run
	$(MAKE) verify

lint-pages: node_modules/.package-lock.json ## check the types of the pages' scripts
	node_modules/.bin/tsc --project templates/jsconfig.json

verify: verify-generated ## fail when generated code or go.mod differ from their sources
	go mod tidy -diff
	cd internal/tools/generators && go mod tidy -diff
	cd internal/tools/packages && go mod tidy -diff

.tools/golangci-lint:
	GOBIN=$(CURDIR)/.tools go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI)

clean: ## remove what was built; data/ stays
	rm -rf bin dist .tools $(filter-out models/agetail.onnx,$(wildcard models/*.onnx)) models/libonnxruntime* models/manifest.json node_modules internal/tools/generators/node_modules
