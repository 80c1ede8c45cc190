# Packages: what others install, under dist/. The same commit, compiler and Debian
# give the same bytes.

MAINTAINER ?= agegate <noreply@agegate.invalid>
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct)

package = cd internal/tools/packages && go run . -version '$(VERSION)' -epoch '$(SOURCE_DATE_EPOCH)' -maintainer '$(MAINTAINER)'

.PHONY: dist/agegate deb image test-packages

dist/agegate: have-go
	go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o $@ ./cmd/agegate

deb: dist/agegate models ## make a Debian package, with a bill of materials and checksums, in dist/
	$(package) deb

image: dist/agegate models ## make an OCI image, with a bill of materials and checksums, in dist/
	$(package) image

test-packages: deps dist/agegate models ## install, upgrade and remove the package on a bare Debian, and run the image, each with a camera check (as root)
	cd internal/tools/packages && go test -count=1 -timeout 20m $(if $(filter-out 0,$(shell id -u)),-exec 'sudo -n --preserve-env=PATH') .
