#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the bed's binaries into a directory of the cache and prints its path.
# Unchanged binaries are not built again.
#
# Usage: build.sh
# Environment: HCP_BED_CACHE, the cache (default ~/.cache/hcp-node-agent)
set -eu
export CGO_ENABLED=0 # static: the same binary wherever it is built, and in images
cd "$(dirname "$0")"
cache=${HCP_BED_CACHE:-$HOME/.cache/hcp-node-agent}
mkdir -p "$cache"

# One build at a time: two would do the same work twice, on the same cores.
exec 9>"$cache/build.lock"
flock 9

# digest FIND-ARGUMENTS...: the hash of those files' names and contents, and of
# what compiles them.
digest() {
    {
        go env GOVERSION GOARCH
        find "$@" -type f ! -name '*_test.go' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
    } | sha256sum | cut -c1-16
}

# install_dir DIRECTORY: renames the complete $partial to DIRECTORY.
partial=$(mktemp -d "$cache/partial.XXXXXX")
trap 'rm -rf "$partial"' EXIT
install_dir() {
    chmod 755 "$partial"
    rm -rf "$1"
    mv "$partial" "$1"
    mkdir "$partial"
}

# It takes minutes without a cache, and depends on its own directory only.
hyperkube=$cache/hyperkube-$(digest hyperkube)
if [ ! -x "$hyperkube/hyperkube" ]; then
    echo "building etcd and Kubernetes (some minutes the first time)" >&2
    hyperkube/build.sh "$partial/hyperkube" >&2
    install_dir "$hyperkube"
fi

bin=$cache/bin-$(digest go.mod go.sum cmd images internal hyperkube build.sh)
if [ ! -x "$bin/controlplane" ]; then
    echo "building the control plane's program and images" >&2
    go build -trimpath -o "$partial/controlplane" ./cmd/controlplane >&2
    for image in images/*/; do
        go build -trimpath -ldflags '-s -w' -o "$partial/image-$(basename "$image")" "./$image" >&2
    done
    ln "$hyperkube/hyperkube" "$partial/hyperkube"
    for name in etcd kube-apiserver kube-controller-manager kube-scheduler kubelet kubectl; do
        ln -s hyperkube "$partial/$name"
    done
    install_dir "$bin"
fi

# Remove what was not used for a week.
touch "$hyperkube" "$bin"
find "$cache" -maxdepth 1 \( -name 'hyperkube-*' -o -name 'bin-*' -o -name 'partial.*' \) \
    ! -path "$partial" -mtime +7 -exec rm -rf {} +
echo "$bin"
