# shellcheck shell=bash
# The parts that both machines have: the Go binaries, and the tests' ssh key.
# Source it after common.sh and versions.sh.

go_version=$(go env GOVERSION) || die "needs Go; install it and run test/deps.sh"
crio_key=$(key "${here:?}/binaries.sh" "${crio_version:?}" "$go_version")
kubelet_key=$(key "$here/binaries.sh" "${kubernetes:?}/go.mod" "$kubernetes/go.sum" "$go_version")
sshkey=${cache:?}/ssh/id_ed25519

lane_go() {
  part crio "$crio_key" "$here/binaries.sh" crio >/dev/null
  part kubelet "$kubelet_key" "$here/binaries.sh" kubelet >/dev/null
}

# in_parallel LANE LANE: run two lanes, one mostly waits for packages, the other mostly compiles.
in_parallel() {
  local first second failed=0
  "$1" & first=$!
  "$2" & second=$!
  wait "$first" || failed=1
  wait "$second" || failed=1
  [ "$failed" = 0 ] || die "a part could not be built, see above"
}

make_sshkey() {
  [ ! -e "$sshkey" ] || return 0
  install -d -m700 "$cache/ssh"
  ssh-keygen -q -t ed25519 -N '' -C test-machine -f "$sshkey"
}

# remove_unused: remove what no build has used for two weeks.
remove_unused() {
  find "$cache" -mindepth 1 -maxdepth 1 -type d -mtime +14 ! -name ssh -exec rm -rf --one-file-system {} +
}
