#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# networkmanager.sh TREE OUT: NetworkManager with its Open vSwitch plugin, which
# Debian builds without. From Debian's own source of the version in TREE, in a
# throw-away copy of it. The daemon comes too: the plugin uses symbols that
# Debian's daemon, linked for the plugins it knew, does not export.
set -euo pipefail
. "$(dirname "$0")/lib/common.sh"
. "$here/lib/mirrors.sh"
tree=${1:?usage: networkmanager.sh TREE OUT} out=${2:?usage: networkmanager.sh TREE OUT}

work=$(mktemp -d "$out.build.XXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
cp -a "$tree/root" "$work/root"
sources_list deb-src >>"$work/root/etc/apt/sources.list"
cp -L /etc/resolv.conf /etc/hosts "$work/root/etc/"
cp "$here/lib/networkmanager-in-chroot.sh" "$work/root/build.sh"

# A mount namespace of its own: /proc goes away with the process, whatever
# happens to it, and can never be met by the removal of the copy.
# shellcheck disable=SC2016 # the inner shell expands its own $1
unshare --mount --propagation private sh -euc '
  mount -t proc proc "$1/proc"
  chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive LC_ALL=C bash /build.sh
' sh "$work/root"

install -m755 "$work/root/build/NetworkManager" "$out/"
install -m644 "$work/root/build/libnm-device-plugin-ovs.so" "$out/"
