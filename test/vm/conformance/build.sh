#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# build.sh: build Kubernetes' conformance tests, CoreDNS and the images of the tests, or find
# them in the cache, and print their directory. It contains e2e.test, coredns and the layers of
# the images, as tar files.
#
# Usage: build.sh [e2e OUT | coredns OUT | layers E2E OUT | all E2E COREDNS LAYERS OUT]
set -euo pipefail
own=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=test/image/lib/common.sh
. "$own/../../image/lib/common.sh"
# shellcheck source=test/image/lib/mirrors.sh
. "$here/lib/mirrors.sh"
export CGO_ENABLED=0
flags=(-trimpath -buildvcs=false)
# What agnhost's Dockerfile installs, in Debian's packages, without dig: only tests that are not run use it.
packages=busybox-static,bash,curl,iproute2,libc-bin,netcat-openbsd

build_e2e() {
  local version minor v=k8s.io/component-base/version
  cd "$own/testdata/e2e"
  version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
  minor=${version#v1.}
  go test -c "${flags[@]}" -vet=off -o "$1/e2e.test" \
    -ldflags="-s -w -X $v.gitVersion=$version -X $v.gitMajor=1 -X $v.gitMinor=${minor%%.*}" .
  go build "${flags[@]}" -ldflags='-s -w' -o "$1/" tool
}

build_coredns() { (cd "$own/testdata/coredns" && go build "${flags[@]}" -ldflags='-s -w' -o "$1/coredns" .); }

# layer ROOT FILE
layer() { tar -C "$1" --owner=0 --group=0 --mtime=@0 --sort=name -cf "$2" .; }

# finish_root ROOT: the applets of busybox that ROOT lacks, and the users that images have.
finish_root() {
  mkdir -p "$1"/{bin,sbin,usr/bin,usr/sbin,etc,home,root,tmp}
  chmod 1777 "$1/tmp"
  chroot "$1" /bin/busybox --install -s /bin # all there, as in the image of busybox
  printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/home:/bin/false\n' >"$1/etc/passwd"
  printf 'root:x:0:\nnobody:x:65534:\n' >"$1/etc/group"
  echo 'hosts: files dns' >"$1/etc/nsswitch.conf"
}

build_layers() {
  local e2e=$1 out=$2 work=$2/work sources option options=()
  mkdir -p "$work"/{busybox/bin,agnhost/uploads,pause,nonewprivs/usr/local/bin}
  mapfile -t sources < <(sources_list deb)
  while read -r option; do options+=(--aptopt="$option"); done < <(apt_options)
  mmdebstrap --mode=root --variant=extract --format=directory --components=main --include="$packages" \
    --aptopt='APT::Install-Recommends "false"' "${options[@]}" "$suite" "$work/tools" "${sources[@]}"
  rm -rf "$work"/tools/usr/share/{doc,man,locale} "$work"/tools/{dev,proc,sys,var,etc/apt}
  cp "$work/tools/bin/busybox" "$work/busybox/bin/"
  ln -s bash "$work/tools/bin/sh" # a shell of busybox prefers its own nc
  finish_root "$work/tools"
  finish_root "$work/busybox"
  ln -sf nc.openbsd "$work/tools/bin/nc" # Debian's alternatives are not configured
  cp "$e2e/agnhost" "$work/agnhost/"
  ln -s agnhost "$work/agnhost/agnhost-2" # a second name, which tests of the entrypoint use
  install -m6755 "$e2e/nonewprivs" "$work/nonewprivs/usr/local/bin/nnp"
  (cd "$own/../../controlplane" && go build "${flags[@]}" -ldflags='-s -w' -o "$work/pause/pause" ./images/pause)
  local name
  for name in tools busybox agnhost nonewprivs pause; do layer "$work/$name" "$out/$name.tar"; done
  rm -rf --one-file-system "$work"
}

link_all() {
  local directory
  for directory in "${@:1:3}"; do cp -l "$directory"/* "$4/"; done
}

case ${1:-} in
  e2e) build_e2e "$2" ;;
  coredns) build_coredns "$2" ;;
  layers) build_layers "$2" "$3" ;;
  all) link_all "${@:2}" ;;
  *)
    go=$(go env GOVERSION)
    e2e=$(part e2e "$(key "$own/build.sh" "$own/testdata/e2e" "$go")" "$own/build.sh" e2e)
    coredns=$(part coredns "$(key "$own/build.sh" "$own/testdata/coredns" "$go")" "$own/build.sh" coredns)
    layers=$(part conformance-layers "$(key "$own/build.sh" "$own/../../controlplane/images/pause" "of $e2e" "$suite")" \
      "$own/build.sh" layers "$e2e")
    part conformance "$(key "of $e2e" "of $coredns" "of $layers")" "$own/build.sh" all "$e2e" "$coredns" "$layers"
    ;;
esac
