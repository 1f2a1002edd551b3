#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tree.sh OUT: the guest's Debian tree with the packages of packages.txt, as
# Debian configures them. Everything of our own is added by rootfs.sh, so that
# a change there does not cost this download.
set -euo pipefail
. "$(dirname "$0")/lib/common.sh"
. "$here/lib/mirrors.sh"
out=${1:?usage: tree.sh OUT}

options=()
while read -r option; do options+=(--aptopt="$option"); done < <(apt_options)
mapfile -t sources < <(sources_list deb)
# After Debian 12, systemd-dev contains what networkmanager.sh needs of systemd, and cloud-init
# conflicts with firewalld. sid has dnf5.
include=$(sed 's/#.*//' "$here/packages.txt" | xargs | tr ' ' ,)
[ "$suite" = bookworm ] || include=${include/,firewalld,/,systemd-dev,}
[ "$suite" != sid ] || include=${include/,dnf,/,dnf5,}

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
