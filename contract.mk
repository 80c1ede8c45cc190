# The contract: generated code and the document's linters.

# Tools of npm that read the contract: the client generators that a test feeds it
# to, and Spectral.
generators := internal/tools/generators/node_modules/.package-lock.json

$(generators): $(addprefix internal/tools/generators/,package.json package-lock.json .npmrc) | have-node have-npm
	cd internal/tools/generators && npm ci --ignore-scripts --no-audit --no-fund
	@touch $@

.PHONY: generate verify-generated lint-openapi

generate: ## insert the samples into the documents, then regenerate gen/ from openapi.yaml
	go run ./internal/tools/contract
	go generate ./gen/...

# Generates in a temporary directory, so that a failed check does not change gen/.
verify-generated: ## fail when the samples or gen/ differ from their sources
	@go run ./internal/tools/contract -check
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && cp -R gen openapi.yaml "$$dir" && \
	go build -o "$$dir/oapi-codegen" github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen && \
	(cd "$$dir/gen" && ../oapi-codegen -config oapi-codegen.yaml ../openapi.yaml) && \
	(cd "$$dir/gen/client" && ../../oapi-codegen -config oapi-codegen.yaml ../../openapi.yaml) && \
	diff -ru gen "$$dir/gen" >"$$dir/diff" || { \
		head -40 "$$dir/diff"; echo "gen/ differs from openapi.yaml: run make generate" >&2; exit 1; }

lint-openapi: $(generators) ## lint both editions of the contract and the workflows, offline
	REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true \
		node_modules/.bin/redocly lint --config .redocly.yaml openapi.yaml gen/openapi-3.0.yaml docs/arazzo.yaml
	internal/tools/generators/node_modules/.bin/spectral lint --ruleset internal/tools/generators/spectral.yaml \
		--fail-severity hint openapi.yaml gen/openapi-3.0.yaml
