#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# image.sh TREE NETWORKMANAGER CRIO KUBELET SSHKEY OUT: everything that boots:
# disk.img, vmlinux, initramfs.img, and the tests' way in: id_ed25519, known_hosts.
set -euo pipefail
. "$(dirname "$0")/lib/common.sh"
tree=${1:?} networkmanager=${2:?} crio=${3:?} kubelet=${4:?} sshkey=${5:?} out=${6:?}

root=$out/root
"$here/rootfs.sh" "$root" "$tree" "$networkmanager" "$crio" "$kubelet" "$sshkey.pub"

# One host key for every machine of this image, known beforehand: the tests
# check it instead of trusting any server.
install -m600 "$sshkey" "$out/id_ed25519"
awk '{ print "machine", $1, $2 }' "$root/etc/ssh/ssh_host_ed25519_key.pub" >"$out/known_hosts"

"$here/initramfs.sh" "$root" "$out/initramfs.img"
"$here/vmlinux.sh" "$root"/boot/vmlinuz-* "$out/vmlinux"

# Sparse, and filled without mounting anything.
truncate -s 12G "$out/disk.img"
mke2fs -q -F -t ext4 -L root -m 0 -E lazy_itable_init=1,lazy_journal_init=1 -d "$root" "$out/disk.img"
chroot "$root" dpkg-query -W >"$out/packages"
rm -rf --one-file-system "$root"
