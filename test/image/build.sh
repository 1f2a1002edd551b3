#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# build.sh [bootc|coreos]: build the test machine's image, or find it in the cache,
# and print its directory. With an argument, that of the machine that boots from an
# OSTree deployment. Needs root and what test/deps.sh installs; see README.md.
set -euo pipefail
. "$(dirname "$0")/lib/common.sh"
case ${1:-} in
  '') ;;
  bootc | coreos) exec "$here/ostree/build.sh" "$1" ;;
  *) die "unknown image $1" ;;
esac
. "$here/lib/mirrors.sh"
. "$here/versions.sh"

[ "$(id -u)" = 0 ] || die "needs root (chroot, device nodes, file owners): run it with sudo"
began=$SECONDS
. "$here/lib/parts.sh"

lane_debian() {
  tree=$(part tree "$tree_key" "$here/tree.sh")
  part networkmanager "$nm_key" "$here/networkmanager.sh" "$tree" >/dev/null
}

tree_key=$(key "$here/tree.sh" "$here/packages.txt" "$suite")
nm_key=$(key "$tree_key" "$here/networkmanager.sh" "$here/lib/networkmanager-in-chroot.sh")

in_parallel lane_debian lane_go

# The parts exist now; this only prints their directories.
tree=$(part tree "$tree_key" false)
networkmanager=$(part networkmanager "$nm_key" false)
crio=$(part crio "$crio_key" false)
kubelet=$(part kubelet "$kubelet_key" false)

make_sshkey

# By contents where building is reproducible, so that a changed go.sum that does
# not change the kubelet does not change the machine.
image_key=$(key "$here/overlay" "$here/rootfs.sh" "$here/image.sh" "$here/initramfs.sh" "$here/lib/init" \
  "$here/vmlinux.sh" "$here/ostree/vmlinux.sh" "$tree_key" "$nm_key" "$crio_key" "$(sha256sum <"$kubelet/kubelet")" "$sshkey.pub")
image=$(part image "$image_key" "$here/image.sh" "$tree" "$networkmanager" "$crio" "$kubelet" "$sshkey")

remove_unused
log "ready in $((SECONDS - began)) s"
printf '%s\n' "$image"
