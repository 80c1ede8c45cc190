# The contract: generated code and the document's linter.

.PHONY: generate verify-generated lint-openapi

generate: ## write gen/ anew from openapi.yaml
	go generate ./gen/...

# Generates beside the tree, so that a failed check leaves gen/ as it was.
verify-generated: ## fail when gen/ is not what openapi.yaml generates
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
	go build -o "$$dir/oapi-codegen" github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen && \
	for pkg in gen gen/client; do \
		(cd "$$dir" && ./oapi-codegen -config "$(CURDIR)/$$pkg/oapi-codegen.yaml" "$(CURDIR)/openapi.yaml") && \
		diff -u $$pkg/*.gen.go "$$dir"/*.gen.go >"$$dir/diff" || { \
			head -40 "$$dir/diff"; echo "$$pkg differs from openapi.yaml: run make generate" >&2; exit 1; }; \
		rm "$$dir"/*.gen.go; \
	done

lint-openapi: ## lint openapi.yaml, offline
	REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true \
		node_modules/.bin/redocly lint --config .redocly.yaml openapi.yaml
