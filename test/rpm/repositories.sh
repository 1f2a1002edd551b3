#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# repositories.sh OUT creates the repositories from which test machines install the agent:
# OUT/old and OUT/new with two versions for the architecture of this machine, signed, and
# OUT/standins with a stand-in for packages of RHEL.
set -euo pipefail
out=${1:?usage: repositories.sh OUT}
cd "$(dirname "$0")/../.."
packaging/rpm/deps.sh
work=$(mktemp -d)
export GNUPGHOME=$work/gnupg KEY='hcp-node-agent test key' root=$work/root
trap 'gpgconf --kill all; rm -rf "$work"' EXIT
# shellcheck source=test/rpm/root.sh
. test/rpm/root.sh

rm -rf "$out" && mkdir -p "$out"
mkdir -m 0700 "$GNUPGHOME"
gpg --batch --quiet --passphrase '' --quick-generate-key "$KEY" rsa3072 sign 1d
for version in old=1.0.0 new=1.1.0; do
  ARCHITECTURES=$(uname -m) CHECK=0 WORKTREE=1 VERSION=${version#*=} packaging/rpm/build.sh "$work/${version%=*}"
  mv "$work/${version%=*}/repo" "$out/${version%=*}"
done
standin distribution '/bin/sh, systemd = 252, NetworkManager, NetworkManager-ovs, kmod, libselinux-utils'
mv "$work/standins/repo" "$out/standins"
createrepo_c --quiet "$out/standins"
