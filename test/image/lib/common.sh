# shellcheck shell=bash
# What every part of the image build shares: where results are kept, how they
# are named after their inputs, and how each step reports its time.
#
# Source it; it runs nothing. Results are directories named PART-KEY in the directory
# "machine" of the bed's cache, where KEY is the hash of all inputs of the part. A
# directory gets its final name only when it is complete, so a later build cannot
# use the incomplete result of a killed build.

# shellcheck disable=SC2034 # read by the scripts that source this
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${HCP_BED_CACHE:-$HOME/.cache/hcp-node-agent}/machine

log() { printf 'image: %s\n' "$*" >&2; }

die() { printf 'image: error: %s\n' "$*" >&2; exit 1; }

# key FILE-OR-TEXT...: a short hash over the contents of the arguments that are
# files or directories and over the text of all others.
key() {
  local arg
  for arg in "$@"; do
    if [ -d "$arg" ]; then
      (cd "$arg" && find . \( -type f -printf '%p %m\n' -o -type l -printf '%p %l\n' \) | sort)
      (cd "$arg" && find . -type f -print0 | sort -z | xargs -0 -r cat)
    elif [ -f "$arg" ]; then
      printf 'file %s\n' "$(basename "$arg")"
      cat "$arg"
    else
      printf 'text %s\n' "$arg"
    fi
  done | sha256sum | cut -c1-16
}

# part NAME KEY COMMAND...: print the directory of the part. If the cache has none
# with that key, run COMMAND with an empty directory as its last argument.
part() {
  local name=$1 k=$2 out began
  shift 2
  out=$cache/$name-$k
  mkdir -p "$cache"
  if [ ! -e "$out" ]; then
    # One builder at a time for each part; those that waited find the result.
    exec 9>"$cache/.$name.lock"
    flock 9
    if [ ! -e "$out" ]; then
      began=$SECONDS
      log "$name: building"
      rm -rf --one-file-system "$out.part"
      mkdir -p "$out.part"
      # "set -e" does not reach into the command substitution this runs in.
      "$@" "$out.part" >"$cache/$name.log" 2>&1 9>&- || {
        rm -rf --one-file-system "$out.part"
        tail -n 20 "$cache/$name.log" >&2
        die "$name: building failed; all of its output is in $cache/$name.log"
      }
      mv "$out.part" "$out"
      log "$name: built in $((SECONDS - began)) s ($(du -sh "$out" | cut -f1))"
    fi
    exec 9>&-
  fi
  touch "$out"
  printf '%s\n' "$out"
}
