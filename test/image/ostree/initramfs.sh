#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# initramfs.sh ROOT OUT: the initramfs of the deployments, which is also that of the
# stand-in for the boot loader: busybox, four modules, kexec and ostree-prepare-root.
set -euo pipefail
. "$(dirname "$0")/../lib/common.sh"
root=${1:?usage: initramfs.sh ROOT OUT} out=${2:?usage: initramfs.sh ROOT OUT}
modules=$(echo "$root"/lib/modules/*)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{bin,boot,dev,proc,run,sys,sysroot,modules,usr/sbin,usr/lib/ostree}
install -m755 "$root/bin/busybox" "$work/bin/"
install -m755 "$here/ostree/init" "$work/init"

# add MODULE: the module after those it requires, numbered in loading order.
# modules.dep lists the requirements of each nearest first.
count=100
add() {
  local line file
  grep -q "/$1\.ko\$" "$modules/modules.builtin" && return
  line=$(grep -m1 -E "/$1\.ko:" "$modules/modules.dep") || die "the kernel has no module $1"
  # shellcheck disable=SC2086 # a list of file names without spaces
  for file in $(printf '%s\n' ${line#*:} | tac) "${line%%:*}"; do
    compgen -G "$work/modules/*-${file##*/}" >/dev/null && continue
    cp "$modules/$file" "$work/modules/$((count++))-${file##*/}"
  done
}
for module in virtio_pci virtio_blk crc32c_generic ext4; do add "$module"; done

for program in /usr/sbin/kexec /usr/lib/ostree/ostree-prepare-root; do
  cp "$root$program" "$work$program"
  chroot "$root" ldd "$program" | grep -o '/[^ ]*' | while read -r library; do
    install -D -m755 "$root$library" "$work$library"
  done
done
printf '[sysroot]\nreadonly=true\n' >"$work/usr/lib/ostree/prepare-root.conf"

(cd "$work" && find . | sort | cpio -o -H newc --quiet) >"$out" # unpacking costs more than loading
