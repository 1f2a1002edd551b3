#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# image.sh FILE [STAGED]: build the image of hcp-node-admin for linux/amd64 and linux/arm64 as the OCI archive FILE, with
# buildah. It pulls nothing. STAGED is a directory that contains the output of stage.sh, hcp-node-admin_linux_ARCHITECTURE;
# without it, both are built.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$(dirname "$1")"
file=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
if ! command -v buildah >/dev/null; then
	echo "image.sh: buildah is missing; install it: apt-get install -y --no-install-recommends buildah" >&2
	exit 1
fi
export VERSION=${VERSION:-$("$here/version.sh")}
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$here" log -1 --format=%ct)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ $# = 2 ]; then
	staged=$2
else
	staged=$work
	for architecture in amd64 arm64; do
		"$here/stage.sh" admin linux "$architecture" "$staged/hcp-node-admin_linux_$architecture"
	done
fi

# A storage of its own: the build leaves nothing in that of the user, and needs no overlay file system.
buildah=(buildah --root "$work/storage" --runroot "$work/run" --storage-driver vfs)
"${buildah[@]}" build --quiet --platform linux/amd64,linux/arm64 --manifest hcp-node-admin --timestamp "$SOURCE_DATE_EPOCH" \
	--build-arg "VERSION=$VERSION" --build-arg "REVISION=$(git -C "$here" rev-parse HEAD)" \
	--file "$here/Containerfile" "$staged" >/dev/null
"${buildah[@]}" manifest push --quiet --all hcp-node-admin "oci:$work/layout:$VERSION"
"$here/pack.sh" "$file" "$work/layout" .
