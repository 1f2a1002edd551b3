#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# vmlinux.sh VMLINUZ OUT: the kernel of Debian 13 unpacked; see ../vmlinux.sh.
set -euo pipefail
. "$(dirname "$0")/../lib/common.sh"
vmlinuz=${1:?usage: vmlinux.sh VMLINUZ OUT} out=${2:?usage: vmlinux.sh VMLINUZ OUT}

# The header contains the offset and the length of the packed kernel (boot protocol
# 2.08). Its last four bytes are the unpacked size, which is not part of the format.
field() { od -An -t "u$2" -j "$1" -N "$2" "$vmlinuz" | tr -d ' '; }
offset=$((($(field $((0x1f1)) 1) + 1) * 512 + $(field $((0x248)) 4)))
length=$(($(field $((0x24c)) 4) - 4))
dd if="$vmlinuz" bs=1M iflag=skip_bytes,count_bytes skip="$offset" count="$length" status=none | zstd -dcq >"$out"
[ "$(head -c 4 "$out" | tail -c 3)" = ELF ] || die "no kernel found in $vmlinuz"
