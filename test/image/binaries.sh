#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# binaries.sh crio|kubelet|previous-kubelet OUT: what OpenShift's RPMs bring and Debian lacks,
# built from the Go module proxy.
set -euo pipefail
. "$(dirname "$0")/lib/common.sh"
usage="usage: binaries.sh crio|kubelet|previous-kubelet OUT"
what=${1:?$usage} out=${2:?$usage}
. "$here/versions.sh"

# CRI-O is built inside its module's directory, with a copy of its own go.mod and
# go.sum: a fresh resolution fails, because two of its dependencies are missing
# from the checksum database and only its own go.sum vouches for them.
build_crio() {
  local src flags=(-std=c99 -Os -Wall -Wextra -static)
  src=$(cd / && go mod download -json "github.com/cri-o/cri-o@$crio_version" | jq -re .Dir)
  install -m644 "$src/go.mod" "$src/go.sum" "$out/"
  (cd "$src" && GOFLAGS='' CGO_ENABLED=1 go build -trimpath -buildvcs=false -ldflags='-s -w' \
    -mod=mod -modfile="$out/go.mod" \
    -tags='containers_image_openpgp exclude_graphdriver_btrfs seccomp' \
    -o "$out/crio" ./cmd/crio)
  cc "${flags[@]}" -s -o "$out/pinns" "$src"/pinns/src/*.c
  # The RPM's units are these, with the RPM's path to the binary.
  for unit in crio crio-wipe; do
    sed 's,/usr/local/bin/crio,/usr/bin/crio,' "$src/contrib/systemd/$unit.service" >"$out/$unit.service"
  done
  rm "$out/go.mod" "$out/go.sum"
}

# build_kubelet MODULE: kubelet of the Kubernetes that a module pins.
build_kubelet() {
  local version minor v=k8s.io/component-base/version
  version=$(cd "$1" && go list -m -f '{{.Version}}' k8s.io/kubernetes)
  minor=${version#v1.}
  (cd "$1" && CGO_ENABLED=0 go build -trimpath -buildvcs=false \
    -ldflags="-s -w -X $v.gitVersion=$version -X $v.gitMajor=1 -X $v.gitMinor=${minor%%.*}" \
    -o "$out/kubelet" k8s.io/kubernetes/cmd/kubelet)
}

case $what in
  crio) build_crio ;;
  kubelet) build_kubelet "$kubernetes" ;; # one pinned Kubernetes for the control plane and the node
  previous-kubelet) build_kubelet "$here/previous" ;;
  *) die "unknown binary $what" ;;
esac
