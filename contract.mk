# The contract: generated code and the document's linter.

.PHONY: generate verify-generated lint-openapi

generate: ## write gen/ anew from openapi.yaml
	go generate ./gen/...

# Generates into a copy of the tree's tracked inputs, so that a failed check
# leaves the working tree as it was.
verify-generated: ## fail when gen/ is not what openapi.yaml generates
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
	for pkg in gen gen/client; do \
		mkdir -p "$$dir/$$pkg" && \
		go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen \
			-config $$pkg/oapi-codegen.yaml -o "$$dir/$$pkg/out.go" openapi.yaml && \
		diff -u $$pkg/*.gen.go "$$dir/$$pkg/out.go" >"$$dir/diff" || { \
			head -40 "$$dir/diff"; echo "$$pkg differs from openapi.yaml: run make generate" >&2; exit 1; }; \
	done

lint-openapi: ## lint openapi.yaml, offline
	REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true \
		node_modules/.bin/redocly lint --config .redocly.yaml openapi.yaml
