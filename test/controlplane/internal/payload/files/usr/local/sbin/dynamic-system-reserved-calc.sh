#!/bin/bash
# Writes /etc/node-sizing.env, which kubelet.service reads. The real one can
# compute the reservation from the machine's size; here it is always given.
set -euo pipefail
if [ "$#" -ne 4 ]; then
  echo "usage: $0 DYNAMIC MEMORY CPU EPHEMERAL-STORAGE" >&2
  exit 1
fi
if [ "$1" != false ]; then
  echo "$0: dynamic sizing is not part of this stand-in" >&2
  exit 1
fi
cat > /etc/node-sizing.env <<EOF
SYSTEM_RESERVED_MEMORY=$2
SYSTEM_RESERVED_CPU=$3
SYSTEM_RESERVED_ES=$4
EOF
