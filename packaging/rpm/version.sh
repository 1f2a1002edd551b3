#!/bin/bash
# version.sh [DESCRIPTION]: the version of the RPM, from what git describe says.
#
#   v1.2.0                 1.2.0
#   v1.3.0-rc.1            1.3.0~rc.1               before 1.3.0
#   v1.2.0-7-gabc1234      1.2.0+7.gabc1234         after 1.2.0, before 1.2.1
#   no tag                 0.0.0+964.gabc1234       by the number of commits
#   ...-dirty              ....dirty
#
# Fedora's caret would say the same; a plus sorts alike, and older rpms know it.
set -euo pipefail
cd "$(dirname "$0")/../.."
said=${1:-$(git describe --tags --long --match 'v[0-9]*' --dirty 2>/dev/null || true)}
if [ -z "$said" ]; then
  said="v0.0.0-$(git rev-list --count HEAD)-g$(git rev-parse --short=9 HEAD)"
  [ -z "$(git status --porcelain --untracked-files=no)" ] || said+=-dirty
fi
dirty=
[ "${said%-dirty}" = "$said" ] || dirty=.dirty
said=${said%-dirty}
snapshot=
if [[ $said =~ ^(.*)-([0-9]+)-(g[0-9a-f]+)$ ]]; then
  said=${BASH_REMATCH[1]}
  [ "${BASH_REMATCH[2]}${dirty}" = 0 ] || snapshot=+${BASH_REMATCH[2]}.${BASH_REMATCH[3]}
fi
said=${said#v}
said=${said/-/\~} # 1.3.0-rc.1 is before 1.3.0
if ! [[ $said =~ ^[0-9][0-9A-Za-z.~]*$ ]]; then
  echo "version.sh: cannot make a version of RPM's of $said" >&2
  exit 1
fi
echo "$said$snapshot$dirty"
