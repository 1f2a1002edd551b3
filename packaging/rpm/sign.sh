#!/bin/bash
# sign.sh REPOSITORY: sign the RPMs in it, make its index, sign that, and put the
# public key (RPM-GPG-KEY) and a .repo file beside them. KEY names a key of
# $GNUPGHOME; without it one is made for a test, and thrown away.
set -euo pipefail
repo=$1
key=${KEY:-}
if [ -z "$key" ]; then
  GNUPGHOME=$(mktemp -d)
  export GNUPGHOME
  trap 'gpgconf --kill all; rm -rf "$GNUPGHOME"' EXIT
  key='hcp-node-agent test key'
  # RSA and SHA-256: RHEL 8's rpm knows no other curve, and FIPS mode allows it
  gpg --batch --quiet --passphrase '' --quick-generate-key "$key" rsa3072 sign 1y
fi
gpg --batch --armor --export "$key" >"$repo/RPM-GPG-KEY"
rpmsign --addsign --define "__gpg $(command -v gpg)" --define "_gpg_name $key" --define '_gpg_digest_algo sha256' "$repo"/*.rpm </dev/null >/dev/null 2>"$repo/rpmsign.log" || { cat "$repo/rpmsign.log" >&2; exit 1; }
rm "$repo/rpmsign.log"
createrepo_c --quiet --checksum sha256 --compress-type gz "$repo"
gpg --batch --quiet --armor --local-user "$key" --digest-algo SHA256 --detach-sign "$repo/repodata/repomd.xml"
cat >"$repo/hcp-node-agent.repo" <<EOT
[hcp-node-agent]
name=hcp-node-agent
baseurl=file://$(cd "$repo" && pwd)
gpgkey=file://$(cd "$repo" && pwd)/RPM-GPG-KEY
enabled=1
gpgcheck=1
repo_gpgcheck=1
EOT
