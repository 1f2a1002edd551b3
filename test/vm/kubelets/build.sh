#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# build.sh: build programs of Kubernetes versions that are newer than the pinned one, or
# find them in the cache, and print their directory. Without a cache, a kubelet takes
# minutes, and the control plane many.
#
# Usage: build.sh v1.MINOR        the programs that the module of this name lists
#        build.sh control-plane   the control plane with the servers of the newest version
set -euo pipefail
own=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=test/image/lib/common.sh
. "$own/../../image/lib/common.sh"
newest=v1.37

# build_programs VERSION OUT: with the version that Kubernetes' own build sets.
build_programs() {
  local version v=k8s.io/component-base/version
  cd "$own/testdata/$1"
  version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
  CGO_ENABLED=0 go build -trimpath -buildvcs=false \
    -ldflags="-s -w -X $v.gitVersion=$version -X $v.gitMajor=1 -X $v.gitMinor=${1#v1.}" -o "$2/" tool
}

# link_control_plane BIN SERVERS OUT: the directory of test/controlplane/build.sh with other servers.
link_control_plane() {
  cp -al "$1/." "$3/"
  ln -f "$2"/kube-* "$3/"
}

programs() {
  [ -d "$own/testdata/$1" ] || die "no module for Kubernetes $1 in $own/testdata"
  part "kubernetes-$1" "$(key "$own/build.sh" "$own/testdata/$1" "$(go env GOVERSION)")" "$own/build.sh" programs "$1"
}

case ${1:-} in
  v1.*) programs "$1" ;;
  control-plane)
    bin=$("$own/../../controlplane/build.sh")
    servers=$(programs "$newest")
    part control-plane "$(key "of $bin" "of $servers")" "$own/build.sh" link "$bin" "$servers"
    ;;
  programs) build_programs "$2" "$3" ;;
  link) link_control_plane "$2" "$3" "$4" ;;
  *) die "usage: build.sh v1.MINOR|control-plane" ;;
esac
