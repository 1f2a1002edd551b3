#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# previous.sh: build the kubelet of the minor release before the image's, or find
# it in the cache, and print its path. The tests upgrade from it.
set -euo pipefail
. "$(dirname "$0")/lib/common.sh"
kubelet=$(part previous-kubelet "$(key "$here/binaries.sh" "$here/previous" "$(go env GOVERSION)")" "$here/binaries.sh" previous-kubelet)
printf '%s\n' "$kubelet/kubelet"
