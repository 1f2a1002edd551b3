#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds etcd and Kubernetes as one static binary, with the version of the real
# binaries.
#
# Usage: build.sh OUTPUT
set -eu
output=${1:?usage: build.sh OUTPUT}
export CGO_ENABLED=0
version=$(cd "$(dirname "$0")" && go list -m -f '{{.Version}}' k8s.io/kubernetes)
minor=${version#v1.}
set -- gitVersion="$version" gitMajor=1 gitMinor="${minor%%.*}" gitTreeState=clean
flags='-s -w'
for setting; do
    flags="$flags -X k8s.io/component-base/version.$setting"
done
cd "$(dirname "$0")"
exec go build -trimpath -ldflags "$flags" -o "$output" .
