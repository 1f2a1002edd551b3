#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# root.sh OUT: a Debian 13 root with the packages of packages.txt, as Debian
# configures them. tree.sh makes the tree of a deployment from it.
set -euo pipefail
. "$(dirname "$0")/../lib/common.sh"
. "$here/lib/mirrors.sh"
out=${1:?usage: root.sh OUT}

options=()
while read -r option; do options+=(--aptopt="$option"); done < <(apt_options)
mapfile -t sources < <(sources_list deb)
include=$(sed 's/#.*//' "$here/ostree/packages.txt" | xargs | tr ' ' ,)

# Neither an initramfs nor a boot loader is configured: initramfs.sh and tree.sh do that.
mmdebstrap --mode=root --variant=minbase --format=directory \
  --components=main --include="$include" \
  --aptopt='APT::Install-Recommends "false"' "${options[@]}" \
  --dpkgopt='force-unsafe-io' \
  --dpkgopt='path-exclude=/usr/share/man/*' \
  --dpkgopt='path-exclude=/usr/share/doc/*' \
  --dpkgopt='path-exclude=/usr/share/locale/*' \
  --dpkgopt='path-exclude=/etc/kernel/postinst.d/*' \
  "$suite" "$out/root" "${sources[@]}"
