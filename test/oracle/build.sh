#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the real Ignition, the peer that internal/ignition is measured against,
# and prints its directory, which contains two names of one program:
#
#   ignition        the engine, stage by stage, as a first boot runs it
#   ignition-apply  the files stage alone, on the tree of an image
#
# Usage: build.sh
# Environment: HCP_BED_CACHE, the cache (default ~/.cache/hcp-node-agent)
set -eu
cd "$(dirname "$0")/../.."
tools=${HCP_BED_CACHE:-$HOME/.cache/hcp-node-agent}/tools

# The very module that the agent is built with, checked by this project's
# go.sum. There is no released binary, and its stages can not be imported.
module=github.com/coreos/ignition/v2
version=$(go list -m -f '{{.Version}}' $module)
folder=$tools/ignition-${version#v}
mkdir -p "$tools"

exec 9>"$tools/ignition.lock"
flock 9
if [ -x "$folder/ignition-apply" ]; then
    echo "$folder"
    exit 0
fi

echo "building Ignition $version (half a minute)" >&2
partial=$(mktemp -d "$tools/partial.XXXXXX")
trap 'rm -rf "$partial"' EXIT
go mod download "$module@$version"
source=$(go list -m -f '{{.Dir}}' $module)
variables=$module/internal

# There are no SELinux labels on the trees of the tests, and no setfiles on
# Debian. It is built in its own module, so with the dependencies of its go.sum;
# cgo is for libblkid and for names that are looked up below a root.
(
    cd "$source"
    CGO_ENABLED=1 GOFLAGS=-mod=readonly go build -trimpath -o "$partial/ignition" -ldflags "-s -w \
        -X $variables/version.Raw=$version -X $variables/distro.selinuxRelabel=false" ./internal >&2
)
ln -s ignition "$partial/ignition-apply"
chmod 755 "$partial"
rm -rf "$folder"
mv "$partial" "$folder"
echo "$folder"
