#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# image.sh CLASS ROOT NETWORKMANAGER CRIO KUBELET PROGRAMS SSHKEY OUT: everything that
# boots a deployment: disk.img, vmlinux, initramfs.img, id_ed25519, known_hosts; and
# base-id, from which tests make the image of the deployment (test/ostree, BaseImage).
# CLASS is bootc (RHEL) or coreos (RHCOS).
set -euo pipefail
. "$(dirname "$0")/../lib/common.sh"
class=${1:?} root=${2:?} networkmanager=${3:?} crio=${4:?} kubelet=${5:?} programs=${6:?} sshkey=${7:?} out=${8:?}

tree=$out/tree
"$here/ostree/tree.sh" "$tree" "$root" "$networkmanager" "$crio" "$kubelet" "$programs" "$sshkey.pub"
install -m644 "$here/ostree/os-release-$class" "$tree/usr/lib/os-release"
modules=$(echo "$tree"/usr/lib/modules/*)
cp "$modules/vmlinuz" "$out/vmlinux"
cp "$modules/initramfs.img" "$out/"
chroot "$tree" dpkg-query -W >"$out/packages"
install -m600 "$sshkey" "$out/id_ed25519"
awk '{ print "machine", $1, $2 }' "$tree/usr/etc/ssh/ssh_host_ed25519_key.pub" >"$out/known_hosts"

basename "${out%.part}" | tr -d '\n' >"$out/base-id"
"$programs/baseimage" "$(cat "$out/base-id")" >"$out/base"

# --- the deployment, by the guest's ostree, in a mount namespace as networkmanager.sh
mkdir "$out/sysroot"
mv "$tree/var" "$out/var"
mkdir "$tree/var"
# shellcheck disable=SC2016 # the inner shell expands its own variables
unshare --mount --propagation private bash -euo pipefail -c '
  root=$1 out=$2
  mount --bind "$out" "$root/mnt"
  mount -t proc proc "$root/proc"
  chroot "$root" /bin/bash -euxo pipefail -s "$4" <"$3"
' bash "$root/root" "$out" "$here/ostree/deploy-in-chroot.sh" "$class"
cp -a "$out/var/." "$out/sysroot/ostree/deploy/default/var/"

# --- the disk: /boot and the root file system, sparse, and filled without mounting anything
boot_mib=384 root_mib=12288 # RHCOS has a /boot of 384 MiB
mkdir "$out/boot"
mv "$out/sysroot/boot"/* "$out/boot/"
truncate -s $((1 + boot_mib + root_mib))M "$out/disk.img"
printf 'label: dos\nstart=1MiB, size=%dMiB\nstart=%dMiB\n' $boot_mib $((1 + boot_mib)) | sfdisk -q "$out/disk.img"
make_fs() { # LABEL DIRECTORY OFFSET SIZE, in MiB
  mke2fs -q -F -t ext4 -L "$1" -m 0 -E "offset=$(($3 << 20)),lazy_itable_init=1,lazy_journal_init=1" \
    -d "$2" "$out/disk.img" "$4M"
}
make_fs boot "$out/boot" 1 $boot_mib
make_fs root "$out/sysroot" $((1 + boot_mib)) $root_mib
# mke2fs does not copy the flag with which ostree makes the root of a deployment immutable.
deployment=$(cd "$out/sysroot" && echo ostree/deploy/default/deploy/*.0)
debugfs -w -R "set_inode_field $deployment flags 0x80010" "$out/disk.img?offset=$(((1 + boot_mib) << 20))"
chattr -i "$out"/sysroot/ostree/deploy/default/deploy/*.0
rm -rf --one-file-system "${out:?}"/{base,boot,sysroot,tree,var}
