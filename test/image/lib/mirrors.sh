# shellcheck shell=bash
# Where the guest's packages come from: the host's own apt sources, in either
# format, as apt itself reads them. No mirror is named in this repository.

# HCP_BED_SUITE selects the suite of the machine in package mode: bookworm (Debian 12), trixie
# (Debian 13) or sid. A script that needs a certain suite sets the variable before it sources this.
suite=${suite:-${HCP_BED_SUITE:-bookworm}}
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# mirror_lines: one "URI RELEASE" for each source of the suite's main component. The
# host's sources are those of Debian 12; the same mirrors have the other suite. On a
# host of another release or distribution set HCP_BED_DEBIAN_SOURCES to such lines
# of Debian 12. sid has neither updates nor security updates.
mirror_lines() { bookworm_lines | sed "s/ bookworm/ $suite/" | { grep -v ' sid-' || true; }; }

bookworm_lines() {
  if [ -n "${HCP_BED_DEBIAN_SOURCES:-}" ]; then
    printf '%s\n' "$HCP_BED_DEBIAN_SOURCES"
    return
  fi
  # shellcheck disable=SC2016 # apt substitutes these itself
  apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    awk -v s=bookworm '($2 == s || $2 == s "-updates" || $2 == s "-security") && $3 == "main" && !seen[$0]++ { print $1, $2 }'
}

# sources_list TYPE: the same as lines of a sources.list, TYPE deb or deb-src.
sources_list() {
  local lines
  lines=$(mirror_lines)
  grep -q " $suite\$" <<<"$lines" ||
    die "no source of Debian 12 on this host; set HCP_BED_DEBIAN_SOURCES to lines of 'URI RELEASE', for example 'MIRROR/debian bookworm'"
  awk -v t="$1" -v k="$keyring" '{ printf "%s [signed-by=%s] %s %s main\n", t, k, $1, $2 }' <<<"$lines"
}

# apt_options: the host's settings that decide whether its mirrors can be used
# at all (proxy, certificates, checks of dates), one "NAME VALUE;" a line.
apt_options() {
  apt-config dump | grep -E '^Acquire::(https?::|Check-|Retries)' || true
}
