#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds what is missing and runs the control plane in the foreground until
# Ctrl-C. Its document is on standard output.
#
# Usage: run.sh [DIRECTORY]   (default: a new directory in /tmp; its logs are kept)
set -eu
here=$(dirname "$0")
bin=$("$here/build.sh")
dir=${1:-$(mktemp -d /tmp/controlplane.XXXXXX)}
echo "in another terminal: export KUBECONFIG=$dir/run/kube/admin.kubeconfig PATH=\$PATH:$bin" >&2
exec "$bin/controlplane" --dir "$dir" --bin "$bin"
