#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# render.sh VERSION SUMS: print the krew manifest of a version. SUMS is a file of sha256sum with the archives. URL is the
# directory from which krew downloads them (default: the release on GitHub).
set -euo pipefail
version=$1 sums=$2
url=${URL:-https://github.com/hcp-node-agent/hcp-node-agent/releases/download/v$version}
template=$(dirname "$0")/hcp-node.yaml
replace=()
for platform in linux_amd64 linux_arm64 darwin_amd64 darwin_arm64; do
	archive=kubectl-hcp_node_${version}_$platform.tar.gz
	sum=$(awk -v name="$archive" '$2 == name { print $1 }' "$sums")
	[ -n "$sum" ] || { echo "render.sh: $sums has no checksum of $archive" >&2; exit 1; }
	replace+=(-e "s|SHA256_$platform|$sum|")
done
sed "${replace[@]}" -e '/^#/d' -e "s|URL|$url|" -e "s|VERSION|$version|" "$template"
