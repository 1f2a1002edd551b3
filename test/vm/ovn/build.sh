#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# build.sh: builds what the OVN-Kubernetes test installs in the machine, or finds
# it in the cache, and prints its directory. It contains root.tar (OVN, ovnkube
# and its CNI plugin as a tree of the machine) and the same tree unpacked, for
# the part of ovnkube that runs outside the machine. See README.md.
#
# Usage: build.sh [ovnkube OUT | root OVNKUBE OUT]
set -euo pipefail
own=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../../image/lib/common.sh
. "$own/../../image/lib/common.sh"
# shellcheck source=../../image/lib/mirrors.sh
. "$here/lib/mirrors.sh"

# The commit of OVN-Kubernetes that OpenShift 4.17 was branched from.
module=github.com/ovn-org/ovn-kubernetes/go-controller
version=v0.0.0-20240614144800-61d5c5937bd4
sum=h1:rqCh/Kh/7ityDsd1tIh1EjLxJ7ie7J8pH9/nxLZURWc=
packages=(ovn-common ovn-central ovn-host)

# ovnkube is built in its own module, so with the dependencies of its own go.sum.
# The module has a vendor directory without sources, which -mod=readonly ignores.
build_ovnkube() {
  local out=$1 download source
  download=$(cd / && go mod download -json "$module@$version")
  [ "$(jq -r .Sum <<<"$download")" = "$sum" ] || die "the sum of $module@$version is not $sum"
  source=$(jq -re .Dir <<<"$download")
  (cd "$source" && CGO_ENABLED=0 GOFLAGS=-mod=readonly go build -trimpath -buildvcs=false -ldflags='-s -w' \
    -o "$out/" ./cmd/ovnkube ./cmd/ovn-k8s-cni-overlay)
  for database in nb sb; do
    # shellcheck disable=SC2016 # the backquotes are Go's
    sed -n '/^var schema = `{/,/^}`/p' "$source/pkg/${database}db/model.go" |
      sed '1s/.*`//; $s/`.*//' >"$out/model-$database.json"
  done
}

# The packages are unpacked, not installed: their scripts and units would start
# a second OVN beside that of the pods.
build_root() {
  local ovnkube=$1 out=$2 apt=$2/apt root=$2/root options=() database option
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$root/usr/bin" "$root/usr/share" "$root/etc/ovn"
  sources_list deb >"$apt/sources.list"
  options=(-o Dir::Etc::SourceList="$apt/sources.list" -o Dir::Etc::SourceParts=-
    -o Dir::State::Lists="$apt/lists" -o Dir::Cache="$apt/cache" -o APT::Sandbox::User=root)
  while read -r option; do options+=(-o "${option//[\";]/}"); done < <(apt_options | sed 's/ "/="/')
  apt-get "${options[@]}" update
  (cd "$apt" && apt-get "${options[@]}" download "${packages[@]}")
  for package in "$apt"/*.deb; do dpkg-deb -x "$package" "$apt/unpacked"; done
  cp -a "$apt/unpacked/usr/share/ovn" "$root/usr/share/"
  cp -a "$apt/unpacked"/usr/bin/ovn-{appctl,controller,nbctl,northd,sbctl} "$root/usr/bin/"
  for database in nb sb; do
    jq -s -f "$own/schema.jq" "$apt/unpacked/usr/share/ovn/ovn-$database.ovsschema" \
      "$ovnkube/model-$database.json" >"$root/usr/share/ovn/ovn-$database.ovsschema"
  done
  install -m755 "$ovnkube/ovnkube" "$root/usr/bin/"
  install -m755 "$ovnkube/ovn-k8s-cni-overlay" "$root/usr/share/ovn/"
  rm -rf "$apt"
  tar -C "$root" --owner=0 --group=0 -cf "$out/root.tar" .
}

case ${1:-} in
  ovnkube) build_ovnkube "$2" ;;
  root) build_root "$2" "$3" ;;
  *)
    ovnkube_key=$(key "$own/build.sh" "$(go env GOVERSION)")
    ovnkube=$(part ovnkube "$ovnkube_key" "$own/build.sh" ovnkube)
    part ovn "$(key "$own/build.sh" "$own/schema.jq" "$ovnkube_key" "$suite")" "$own/build.sh" root "$ovnkube"
    ;;
esac
