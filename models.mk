# Model files and the ONNX Runtime library, from the npm packages of package.json.
# `npm ci` rewrites node_modules/.package-lock.json, which serves as its stamp;
# the manifest is written last and stands for the whole models directory.

converter := $(filter-out %_test.go,$(wildcard internal/age/tfjs/*.go internal/age/convert/*.go)) internal/age/models.go internal/age/onnx/manifest.go

.PHONY: models
models: models/manifest.json ## convert the face models and fetch ONNX Runtime, from npm

node_modules/.package-lock.json: package.json package-lock.json .npmrc
	npm ci --ignore-scripts --no-audit --no-fund
	@touch $@

models/manifest.json: node_modules/.package-lock.json $(converter)
	go run ./internal/age/convert
