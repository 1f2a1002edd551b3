#!/bin/bash
# version.sh [DESCRIPTION] prints the RPM version for the output of git describe.
#
#   v1.2.0                 1.2.0
#   v1.3.0-rc.1            1.3.0~rc.1               before 1.3.0
#   v1.2.0-7-gabc1234      1.2.0+7.gabc1234         after 1.2.0, before 1.2.1
#   no tag                 0.0.0+964.gabc1234       number of commits
#   ...-dirty              ....dirty
#
# A plus sorts like Fedora's caret, and rpm versions before 4.15 support it.
set -euo pipefail
cd "$(dirname "$0")/../.."
description=${1:-$(git describe --tags --long --match 'v[0-9]*' --dirty 2>/dev/null || true)}
if [ -z "$description" ]; then
  description="v0.0.0-$(git rev-list --count HEAD)-g$(git rev-parse --short=9 HEAD)"
  [ -z "$(git status --porcelain --untracked-files=no)" ] || description+=-dirty
fi
dirty=
[ "${description%-dirty}" = "$description" ] || dirty=.dirty
description=${description%-dirty}
snapshot=
if [[ $description =~ ^(.*)-([0-9]+)-(g[0-9a-f]+)$ ]]; then
  description=${BASH_REMATCH[1]}
  [ "${BASH_REMATCH[2]}${dirty}" = 0 ] || snapshot=+${BASH_REMATCH[2]}.${BASH_REMATCH[3]}
fi
description=${description#v}
description=${description/-/\~} # 1.3.0-rc.1 is before 1.3.0
if ! [[ $description =~ ^[0-9][0-9A-Za-z.~]*$ ]]; then
  echo "version.sh: $description cannot be converted to an RPM version" >&2
  exit 1
fi
echo "$description$snapshot$dirty"
