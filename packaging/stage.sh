#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# stage.sh PROGRAM OS ARCHITECTURE DIRECTORY: build hcp-node-PROGRAM (agent, admin or acceptance) in DIRECTORY, with the licenses of
# the project, of Go and of all modules in the binary. The same commit, Go and VERSION yield the same bytes.
set -euo pipefail
program=$1
export GOOS=$2 GOARCH=$3
mkdir -p "$4"
out=$(cd "$4" && pwd)
cd "$(dirname "$0")/.."
version=${VERSION:-$(packaging/version.sh)}
source=./cmd/node-$program
[ "$program" != acceptance ] || source=./test/acceptance

# As the RPM, with Go's certified FIPS 140-3 module (packaging/rpm/README.md), but not position-independent: the image
# contains no loader. The build tag excludes the trace pages of gRPC, whose templates make the linker keep every method.
export CGO_ENABLED=0 GOFLAGS=-trimpath GOFIPS140=v1.0.0
go build -buildvcs=true -tags grpcnotrace -ldflags "-s -w -X main.version=$version" -o "$out/hcp-node-$program" "$source"

# licenses DIRECTORY NAME: copy the license files of DIRECTORY to licenses/NAME.
licenses() {
	mkdir -p "$out/licenses/$2"
	find "$1" -maxdepth 1 -type f -iregex '.*/\(licen[cs]e\|copying\|notice\|patents\).*' -exec cp -t "$out/licenses/$2" {} +
}
licenses . hcp-node-agent
licenses "$(go env GOROOT)" go
go version -m "$out/hcp-node-$program" | awk '$1 == "dep" { print $2 }' | while read -r module; do
	licenses "$(go list -m -f '{{.Dir}}' "$module")" "$module"
done
chmod -R u=rwX,go=rX "$out"
