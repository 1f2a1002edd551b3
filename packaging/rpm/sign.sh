#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sign.sh REPOSITORY signs the RPMs of the directory, creates and signs the repository
# metadata, and adds the public key (RPM-GPG-KEY), a .repo file and install.sh. KEY is a
# key of $GNUPGHOME; without it, a test key is created and deleted.
set -euo pipefail
repo=$1
key=${KEY:-}
if [ -z "$key" ]; then
  GNUPGHOME=$(mktemp -d)
  export GNUPGHOME
  trap 'gpgconf --kill all; rm -rf "$GNUPGHOME"' EXIT
  key='hcp-node-agent test key'
  # RSA with SHA-256 is supported by RHEL 8's rpm and permitted in FIPS mode.
  gpg --batch --quiet --passphrase '' --quick-generate-key "$key" rsa3072 sign 1y
fi
gpg --batch --armor --export "$key" >"$repo/RPM-GPG-KEY"
rpmsign --addsign --define "__gpg $(command -v gpg)" --define "_gpg_name $key" --define '_gpg_digest_algo sha256' "$repo"/*.rpm </dev/null >/dev/null 2>"$repo/rpmsign.log" || { cat "$repo/rpmsign.log" >&2; exit 1; }
rm "$repo/rpmsign.log"
createrepo_c --quiet --checksum sha256 --compress-type gz "$repo"
gpg --batch --quiet --armor --local-user "$key" --digest-algo SHA256 --detach-sign "$repo/repodata/repomd.xml"
cp "$(dirname "$0")/hcp-node-agent.repo" "$(dirname "$0")/install.sh" "$repo/"
