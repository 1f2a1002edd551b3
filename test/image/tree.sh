#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tree.sh OUT: the guest's Debian 12 tree with the packages of packages.txt, as
# Debian configures them. Everything of our own is added by rootfs.sh, so that
# a change there does not cost this download.
set -euo pipefail
. "$(dirname "$0")/lib/common.sh"
. "$here/lib/mirrors.sh"
out=${1:?usage: tree.sh OUT}

options=()
while read -r option; do options+=(--aptopt="$option"); done < <(apt_options)
mapfile -t sources < <(sources_list deb)
include=$(sed 's/#.*//' "$here/packages.txt" | xargs | tr ' ' ,)

# No initramfs-tools hook: the guest boots from initramfs.sh's, a tenth of Debian's.
# force-unsafe-io: the tree is worthless until it is complete anyway.
mmdebstrap --mode=root --variant=minbase --format=directory \
  --components=main --include="$include" \
  --aptopt='APT::Install-Recommends "false"' "${options[@]}" \
  --dpkgopt='force-unsafe-io' \
  --dpkgopt='path-exclude=/usr/share/man/*' \
  --dpkgopt='path-exclude=/usr/share/doc/*' \
  --dpkgopt='path-exclude=/usr/share/locale/*' \
  --dpkgopt='path-exclude=/etc/kernel/postinst.d/initramfs-tools' \
  "$suite" "$out/root" "${sources[@]}"
