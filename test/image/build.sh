#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# build.sh: build the test machine's image, or find it in the cache, and print
# its directory. Needs root and what test/deps.sh installs; see README.md.
set -euo pipefail
. "$(dirname "$0")/lib/common.sh"
. "$here/lib/mirrors.sh"
. "$here/versions.sh"

[ "$(id -u)" = 0 ] || die "needs root (chroot, device nodes, file owners): run it with sudo"
began=$SECONDS
go_version=$(go env GOVERSION) || die "needs Go; install it and run test/deps.sh"

# Two lanes, one mostly waits for packages, the other mostly compiles.
lane_debian() {
  tree=$(part tree "$tree_key" "$here/tree.sh")
  part networkmanager "$nm_key" "$here/networkmanager.sh" "$tree" >/dev/null
}
lane_go() {
  part crio "$crio_key" "$here/binaries.sh" crio >/dev/null
  part kubelet "$kubelet_key" "$here/binaries.sh" kubelet >/dev/null
}

tree_key=$(key "$here/tree.sh" "$here/packages.txt" "$suite")
nm_key=$(key "$tree_key" "$here/networkmanager.sh" "$here/lib/networkmanager-in-chroot.sh")
crio_key=$(key "$here/binaries.sh" "$crio_version" "$go_version")
kubelet_key=$(key "$here/binaries.sh" "$kubernetes/go.mod" "$kubernetes/go.sum" "$go_version")

lane_debian & debian=$!
lane_go & go=$!
failed=0
wait "$debian" || failed=1
wait "$go" || failed=1
[ "$failed" = 0 ] || die "a part could not be built, see above"

# The parts exist now; this only prints their directories.
tree=$(part tree "$tree_key" false)
networkmanager=$(part networkmanager "$nm_key" false)
crio=$(part crio "$crio_key" false)
kubelet=$(part kubelet "$kubelet_key" false)

sshkey=$cache/ssh/id_ed25519
if [ ! -e "$sshkey" ]; then
  install -d -m700 "$cache/ssh"
  ssh-keygen -q -t ed25519 -N '' -C test-machine -f "$sshkey"
fi

# By contents where building is reproducible, so that a changed go.sum that does
# not change the kubelet does not change the machine.
image_key=$(key "$here/overlay" "$here/rootfs.sh" "$here/image.sh" "$here/initramfs.sh" "$here/lib/init" \
  "$here/vmlinux.sh" "$tree_key" "$nm_key" "$crio_key" "$(sha256sum <"$kubelet/kubelet")" "$sshkey.pub")
image=$(part image "$image_key" "$here/image.sh" "$tree" "$networkmanager" "$crio" "$kubelet" "$sshkey")

# Remove what no build has used for two weeks.
find "$cache" -mindepth 1 -maxdepth 1 -type d -mtime +14 ! -name ssh -exec rm -rf --one-file-system {} +

log "ready in $((SECONDS - began)) s"
printf '%s\n' "$image"
