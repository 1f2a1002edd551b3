#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# release.sh [DIRECTORY]: build the files of a release, from the commit that is checked out, in DIRECTORY (build/release):
#
#   hcp-node-agent_VERSION_linux_ARCHITECTURE.tar.gz  the binary and the licenses
#   hcp-node-admin_VERSION_OS_ARCHITECTURE.tar.gz     also the manifests of the approver
#   ....cdx.json                                      the SBOM of each binary (CycloneDX)
#   hcp-node-admin_VERSION_image.tar                  the image, an OCI archive; needs buildah
#   *.rpm                                             the packages; need rpmbuild
#   SHA256SUMS
#
# The same commit, with the same versions of Go and of the tools, yields the same bytes. VERSION is the version (default:
# version.sh). The packages are signed if KEY is set (packaging/rpm/build.sh), else they are not signed.
set -euo pipefail
export LC_ALL=C # sorts file names
export CGO_ENABLED=0 GOFLAGS=-trimpath
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
rm -f "$out"/hcp-node-* "$out/SHA256SUMS"

# sbom BINARY FILE: the modules of a binary and Go's library, by the build information. The date is that of the commit.
sbom() {
	go -C packaging/tools tool cyclonedx-gomod bin -json -std -noserial -version "v$VERSION" "$1" |
		jq --arg date "$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)" '.metadata.timestamp = $date' >"$2"
}

for target in agent_linux_amd64 agent_linux_arm64 admin_linux_amd64 admin_linux_arm64 admin_darwin_amd64 admin_darwin_arm64; do
	IFS=_ read -r program os architecture <<<"$target"
	name=hcp-node-${program}_${VERSION}_${os}_$architecture
	packaging/stage.sh "$program" "$os" "$architecture" "$work/hcp-node-$target"
	sbom "$work/hcp-node-$target/hcp-node-$program" "$out/$name.cdx.json"
	cp -r "$work/hcp-node-$target" "$work/$name"
	[ "$program" = agent ] || cp -r deploy "$work/$name/"
	packaging/pack.sh "$out/$name.tar.gz" "$work" "$name"
done
if command -v buildah >/dev/null; then
	packaging/image.sh "$out/hcp-node-admin_${VERSION}_image.tar" "$work"
else
	echo "release.sh: no image: buildah is missing" >&2
fi
if command -v rpmbuild >/dev/null; then
	packaging/rpm/build.sh "$work/rpm" >&2
	repository=unsigned
	[ -z "${KEY:-}" ] || repository=repo
	cp "$work/rpm/$repository"/*.rpm "$out/"
else
	echo "release.sh: no packages: rpmbuild is missing" >&2
fi
(cd "$out" && sha256sum hcp-node-*) >"$work/sums"
cp "$work/sums" "$out/SHA256SUMS"
echo "hcp-node-agent $VERSION is in $out"
