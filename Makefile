# agegate: make run and make test need only Go, Node.js and, for the tests,
# Debian's chromium and postgresql (make deps installs them as root).

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo development)

.DEFAULT_GOAL := help
.PHONY: help run build test bench lint verify deps clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "  %-20s %s\n", $$1, $$2}'

include contract.mk models.mk

run: build models ## run the gateway with a sample shop: http://localhost:8081
	bin/agegate demo

build: ## compile bin/agegate
	go build -ldflags '-X main.version=$(VERSION)' -o bin/agegate ./cmd/agegate
