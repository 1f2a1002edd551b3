#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# release.sh [DIRECTORY]: build a release, from the commit that is checked out, in DIRECTORY (build/release). A web server
# can serve the directory; a release on GitHub, which has no directories, gets the files, without repository:
#
#   hcp-node-agent_VERSION_linux_ARCHITECTURE.tar.gz  the binary and the licenses
#   hcp-node-admin_VERSION_OS_ARCHITECTURE.tar.gz     also the manifests of the controller
#   hcp-node-acceptance_VERSION_linux_ARCHITECTURE.tar.gz  the test of a host (docs/acceptance.md)
#   ....cdx.json                                      the SBOM of each binary (CycloneDX)
#   hcp-node-admin_VERSION_chart.tar.gz               the Helm chart of the controller
#   hcp-node-admin_VERSION_bundle.tar.gz              the OLM bundle of the controller in the hosted cluster
#   hcp-node-admin_VERSION_image.tar                  the image, an OCI archive; needs buildah
#   repository/                                       the signed repository of the packages (packaging/rpm/sign.sh)
#   hcp-node-agent_VERSION_repository.tar.gz          the same
#   SHA256SUMS                                        the checksums of the files, without repository
#   SHA256SUMS.unsigned                               the checksums of all that does not depend on the key: the other
#                                                     files, and the packages before they are signed
#
# The same commit, with the same versions of Go and of the tools, yields the same SHA256SUMS.unsigned. VERSION is the version
# (default: version.sh). KEY is the key that signs the packages (packaging/rpm/build.sh); without it, a test key is created
# and deleted.
set -euo pipefail
export LC_ALL=C # sorts file names
export CGO_ENABLED=0 GOFLAGS=-trimpath
umask 022 # a web server reads the files
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:-$here/../build/release}"
out=$(cd "${1:-$here/../build/release}" && pwd)
for tool in jq tar; do
	command -v "$tool" >/dev/null || { echo "release.sh: $tool is missing" >&2; exit 1; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# A clone has no changes that are not committed. Go records no commit in a linked worktree.
git clone -q "$here/.." "$work/source"
cd "$work/source"
export VERSION=${VERSION:-$(packaging/version.sh)}
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
rm -rf "$out"/hcp-node-* "$out"/SHA256SUMS* "$out/repository"

# sbom BINARY FILE: the modules of a binary and Go's library, by the build information. The date is that of the commit.
sbom() {
	go -C packaging/tools tool cyclonedx-gomod bin -json -std -noserial -version "v$VERSION" "$1" |
		jq --arg date "$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)" '.metadata.timestamp = $date' >"$2"
}

for target in agent_linux_amd64 agent_linux_arm64 admin_linux_amd64 admin_linux_arm64 admin_darwin_amd64 admin_darwin_arm64 \
	acceptance_linux_amd64 acceptance_linux_arm64; do
	IFS=_ read -r program os architecture <<<"$target"
	name=hcp-node-${program}_${VERSION}_${os}_$architecture
	packaging/stage.sh "$program" "$os" "$architecture" "$work/hcp-node-$target"
	sbom "$work/hcp-node-$target/hcp-node-$program" "$out/$name.cdx.json"
	cp -r "$work/hcp-node-$target" "$work/$name"
	[ "$program" != admin ] || cp -r deploy "$work/$name/"
	packaging/pack.sh "$out/$name.tar.gz" "$work" "$name"
done
(cd packaging/generate && go run . "$work/generated" "$VERSION")
packaging/pack.sh "$out/hcp-node-admin_${VERSION}_chart.tar.gz" "$work/generated/chart" hcp-node-admin
packaging/pack.sh "$out/hcp-node-admin_${VERSION}_bundle.tar.gz" "$work/generated" bundle
if command -v buildah >/dev/null; then
	packaging/image.sh "$out/hcp-node-admin_${VERSION}_image.tar" "$work"
else
	echo "release.sh: no image: buildah is missing" >&2
fi
packaging/rpm/build.sh "$work/rpm" >&2
(cd "$out" && sha256sum hcp-node-* && cd "$work/rpm/unsigned" && sha256sum -- *.rpm) >"$work/unsigned"
cp -r "$work/rpm/repo" "$out/repository"
cp "$work"/rpm/*_repository.tar.gz "$out/"
cp "$work/unsigned" "$out/SHA256SUMS.unsigned"
(cd "$out" && sha256sum hcp-node-*) >"$work/sums"
cp "$work/sums" "$out/SHA256SUMS"
[ -n "${KEY:-}" ] || echo "release.sh: signed with a test key, which no longer exists: do not publish it; KEY=NAME is another key" >&2
echo "hcp-node-agent $VERSION is in $out"
