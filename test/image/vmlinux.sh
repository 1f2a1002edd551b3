#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# vmlinux.sh VMLINUZ OUT: the kernel unpacked, for QEMU to enter directly (PVH).
# Under emulation the kernel's own unpacking costs seconds at every boot.
set -euo pipefail
. "$(dirname "$0")/lib/common.sh"
vmlinuz=${1:?usage: vmlinux.sh VMLINUZ OUT} out=${2:?usage: vmlinux.sh VMLINUZ OUT}

# Debian 12 packs with xz, later releases with zstd. The packed kernel starts where the
# magic bytes are, and what follows it in the file makes xz complain after it has written all.
offset=$(LC_ALL=C grep -abo -m1 $'\xfd7zXZ' "$vmlinuz" | head -n 1 | cut -d: -f1 || true)
[ -n "$offset" ] || exec "$here/ostree/vmlinux.sh" "$vmlinuz" "$out"
tail -c "+$((offset + 1))" "$vmlinuz" | xz -dc --single-stream >"$out" 2>/dev/null || true
[ "$(head -c 4 "$out" | tail -c 3)" = ELF ] || die "no kernel found in $vmlinuz"
