#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# release-admin.sh [DIRECTORY]: build hcp-node-admin as a plugin of kubectl and oc, from the commit that is checked out, in
# DIRECTORY (build/release):
#
#   kubectl-hcp_node_VERSION_OS_ARCHITECTURE.tar.gz  the binary kubectl-hcp_node, LICENSE, and the licenses of its modules
#   kubectl-hcp_node_VERSION_SHA256SUMS              the checksums of the archives
#   hcp-node.yaml                                    the manifest for krew (packaging/krew)
#
# The same commit, with the same version of Go, yields the same bytes. VERSION is the version (default: version.sh), URL
# the directory from which krew downloads the archives (default: the release on GitHub).
set -euo pipefail
export LC_ALL=C # sorts file names
umask 022
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:-$here/../build/release}"
out=$(cd "${1:-$here/../build/release}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# A clone has no changes that are not committed.
git clone -q "$here/.." "$work/source"
cd "$work/source"
export VERSION=${VERSION:-$(packaging/version.sh)}
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
rm -f "$out"/kubectl-hcp_node_* "$out/hcp-node.yaml"

sums=kubectl-hcp_node_${VERSION}_SHA256SUMS
for platform in linux_amd64 linux_arm64 darwin_amd64 darwin_arm64; do
	stage=$work/$platform
	packaging/stage.sh admin "${platform%_*}" "${platform#*_}" "$stage"
	mv "$stage/hcp-node-admin" "$stage/kubectl-hcp_node"
	cp LICENSE "$stage/"
	packaging/pack.sh "$out/kubectl-hcp_node_${VERSION}_$platform.tar.gz" "$stage" kubectl-hcp_node LICENSE licenses
done
(cd "$out" && sha256sum kubectl-hcp_node_*.tar.gz) >"$work/sums"
cp "$work/sums" "$out/$sums"
packaging/krew/render.sh "$VERSION" "$out/$sums" >"$out/hcp-node.yaml"
echo "kubectl-hcp_node $VERSION is in $out"
