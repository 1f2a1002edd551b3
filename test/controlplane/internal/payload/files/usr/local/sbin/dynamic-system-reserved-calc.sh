#!/bin/bash
# Writes /etc/node-sizing.env, which kubelet.service reads. The real one can also
# compute the reservation from the machine's size. As there, jq reads the version
# of the computation that an earlier run wrote; without jq kubelet does not start.
set -euo pipefail
if [ "$#" -ne 4 ]; then
  echo "usage: $0 DYNAMIC MEMORY CPU EPHEMERAL-STORAGE" >&2
  exit 1
fi
version_file=/etc/node-sizing-version.json
if [ ! -f "$version_file" ]; then
  echo "{\"version\": ${NODE_AUTO_SIZING_VERSION:-2}}" >"$version_file"
fi
version=$(jq .version "$version_file")
if [ "$1" != false ]; then
  echo "$0: dynamic sizing (version $version) is not part of this stand-in" >&2
  exit 1
fi
cat >/etc/node-sizing.env <<EOF
SYSTEM_RESERVED_MEMORY=$2
SYSTEM_RESERVED_CPU=$3
SYSTEM_RESERVED_ES=$4
EOF
