#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deps.sh installs the missing dependencies for building and testing the RPMs on
# Debian 12, as root. On other systems it prints them and changes nothing.
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin
needs=("rpmbuild rpm" "rpmsign rpm" "dnf dnf" "createrepo_c createrepo-c" "rpmlint rpmlint" "gpg gnupg" "gpg-agent gpg-agent" "zstd zstd" "cpio cpio" "git git"
  "secilc secilc" "matchpathcon selinux-utils" "sos sosreport")
missing=()
for need in "${needs[@]}"; do
  command -v "${need% *}" >/dev/null || missing+=("${need#* }")
done
if ! command -v go >/dev/null; then
  echo "deps: Go is missing; install it from https://go.dev/dl (go.mod contains the version)" >&2
  exit 1
fi
[ ${#missing[@]} != 0 ] || exit 0
install="apt-get install -y --no-install-recommends ${missing[*]}"
# shellcheck source=/dev/null
. /etc/os-release
if [ "${ID:-}" != debian ] || [ "$(id -u)" != 0 ]; then
  echo "deps: as root on Debian 12: $install" >&2
  echo "deps: elsewhere: dnf install rpm-build rpm-sign createrepo_c rpmlint golang systemd-rpm-macros" >&2
  exit 1
fi
echo "deps: installing ${missing[*]}" >&2
apt-get update -qq
DEBIAN_FRONTEND=noninteractive $install -qq >/dev/null
