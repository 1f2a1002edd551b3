#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# initramfs.sh ROOT OUT: a small initramfs that mounts /dev/vda and boots from it;
# Debian's generic one takes ten times as long under emulation.
set -euo pipefail
. "$(dirname "$0")/lib/common.sh"
root=${1:?usage: initramfs.sh ROOT OUT} out=${2:?usage: initramfs.sh ROOT OUT}
modules=$(echo "$root"/lib/modules/*)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{bin,dev,proc,sys,root,modules}
install -m755 "$root/bin/busybox" "$work/bin/"
install -m755 "$here/lib/init" "$work/init"

# add MODULE: the module after those it needs, numbered in loading order.
# modules.dep lists the needs of each nearest first.
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

# Not compressed: unpacking costs more than loading.
(cd "$work" && find . | sort | cpio -o -H newc --quiet) >"$out"
