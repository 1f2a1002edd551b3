#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# build.sh bootc|coreos: build the image of the machine that boots from an OSTree
# deployment, or find it in the cache, and print its directory. Called by ../build.sh.
set -euo pipefail
. "$(dirname "$0")/../lib/common.sh"
class=${1:?usage: build.sh bootc|coreos}
export suite=trixie # of root.sh and networkmanager.sh
. "$here/lib/mirrors.sh"
. "$here/versions.sh"

[ "$(id -u)" = 0 ] || die "needs root (chroot, device nodes, file owners): run it with sudo"
began=$SECONDS
. "$here/lib/parts.sh"

# build_programs OUT: the stand-ins bootc, rpm-ostree and podman, one binary, and baseimage.
build_programs() { (cd "$here/../.." && CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags='-s -w' -o "$1/" ./test/ostree/cmd/...); }

lane_debian() {
  root=$(part root "$root_key" "$here/ostree/root.sh")
  part networkmanager-trixie "$nm_key" "$here/networkmanager.sh" "$root" >/dev/null
}

root_key=$(key "$here/ostree/root.sh" "$here/ostree/packages.txt" "$suite")
nm_key=$(key "$root_key" "$here/networkmanager.sh" "$here/lib/networkmanager-in-chroot.sh")
programs_key=$(key "$here/../ostree" "$here/../../go.mod" "$go_version")

in_parallel lane_debian lane_go
root=$(part root "$root_key" false)
networkmanager=$(part networkmanager-trixie "$nm_key" false)
crio=$(part crio "$crio_key" false)
kubelet=$(part kubelet "$kubelet_key" false)
programs=$(part programs "$programs_key" build_programs)
make_sshkey

image_key=$(key "$class" "$here/overlay" "$here/ostree" "$root_key" "$nm_key" "$crio_key" \
  "$(sha256sum <"$kubelet/kubelet")" "$(cat "$programs"/* | sha256sum)" "$sshkey.pub")
image=$(part "$class" "$image_key" "$here/ostree/image.sh" "$class" "$root" "$networkmanager" "$crio" "$kubelet" "$programs" "$sshkey")

remove_unused
log "ready in $((SECONDS - began)) s"
printf '%s\n' "$image"
