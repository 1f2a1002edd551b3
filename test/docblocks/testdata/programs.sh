# shellcheck shell=bash disable=SC2154 # the test sets the variables
# The programs that the shell blocks of the documentation use. A program is run if it is in PATH, a directory with
# links to harmless ones. A program that has a function here is replaced by the function, which runs it in a harmless
# way, or checks its arguments and states why it is not run. Any other program is an error.
#
# Set by the test: repository, tools (the PATH of real programs), bin (the PATH of blocks), root (the scratch root),
# netns (a network namespace with an interface eth0), facts (a file for plan --facts).

real() {
  [ "$1" != kubectl ] || set -- kubectl --request-timeout=15m "${@:2}" # longer on a busy host than the default
  PATH=$tools command "$@"
}

not_run() { echo "$block: not run, $*" >&2; }

# check_options runs a program with --help after the given options. It fails if one of them does not exist.
check_options() { real "$@" --help >/dev/null; }

hcp-node-agent() {
  local flag
  for flag in --user-data --payload --ignition-override --facts --ca-file; do
    check_file "$flag" "$@"
  done
  case "$*" in
    'plan --print-facts') cat "$facts" ;; # the facts of a RHEL host, not of this one
    'plan --payload '*)
      check_file --payload "$@"
      case "$*" in
        *--facts*) set -- "$@" ;;
        *) set -- "$@" --facts "$facts" ;;
      esac
      # 9: changes are planned, with --detailed-exitcode
      real hcp-node-agent "$@" || [[ $? = 9 && $* = *--detailed-exitcode* ]] ;;
    'config show'*) real hcp-node-agent "$@" ;;
    'status -o json') real hcp-node-agent "$@" || [ $? = 1 ] ;; # this host has not joined
    *)
      check_options hcp-node-agent "$@"
      not_run 'it changes or examines the host' ;;
  esac
}

# check_file fails if the file that follows a flag does not exist. Files in /root are on another host.
check_file() {
  local flag=$1
  shift
  while [ $# -gt 1 ]; do
    if [ "$1" = "$flag" ] && [[ $2 != /root/* ]] && [[ $2 != [A-Z]* ]] && ! [ -e "$2" ]; then
      echo "$block: there is no file $2" >&2
      return 1
    fi
    shift
  done
}

helm() { not_run 'no release is built; packaging/generate installs the chart'; }

bash() { real bash "$@"; }

hcp-node-admin() {
  # One API server plays the hosted and the management cluster, and KUBECONFIG is that of both.
  if [[ $* = *' -n clusters --hosted-cluster hosted'* ]]; then
    check_options hcp-node-admin "$@"
    local command="$* "
    read -ra command <<<"${command/ -n clusters --hosted-cluster hosted / }"
    set -- "${command[@]}"
  fi
  case "$*" in
    'kubeconfig '*)
      check_options hcp-node-admin "$@"
      cat "$KUBECONFIG" ;;
    # One API server plays the hosted and the management cluster, which enroll refuses. It has no Secrets of a NodePool.
    'enroll -n '*)
      check_options hcp-node-admin "$@"
      shift 3
      set -- --offline "${@/#--kubeconfig/--hosted-kubeconfig}"
      [[ $* = *--hosted-kubeconfig* ]] || set -- "$@" --hosted-kubeconfig "$KUBECONFIG"
      # user data limits the validity
      [[ $* != *--format* ]] || set -- "${@/72h/5h}" --embed-user-data user-data.ign --site-config "$repository/examples/site.yaml"
      real hcp-node-admin enroll "$@" ;;
    'site apply '*)
      check_options hcp-node-admin "$@"
      not_run 'the namespace exists only after controller install; TestControlPlaneEnroll runs it' ;;
    'token revoke '*)
      check_options hcp-node-admin "$@"
      not_run 'no NodeEnrollment exists' ;;
    'approve '* | 'describe '*)
      check_options hcp-node-admin "$@"
      not_run 'the node is an example' ;;
    'nodes '*--wait*)
      check_options hcp-node-admin "$@"
      not_run 'the nodes are examples' ;;
    'upgrade '*)
      check_options hcp-node-admin "$@"
      not_run 'no node of the NodePool is enrolled; TestControlPlaneFleet runs it' ;;
    'controller status '*)
      check_options hcp-node-admin "$@"
      not_run 'no controller is installed; TestStatus makes the states' ;;
    # It refuses one API server that plays both clusters. The part of the hosted cluster is the same.
    'controller install '*)
      check_options hcp-node-admin "$@"
      [[ $* = *--dry-run* ]] && return
      # another page may have deleted the namespace just now
      [ "$(real kubectl get namespaces hcp-node-admin --ignore-not-found -o jsonpath='{.status.phase}')" != Terminating ] ||
        real kubectl wait --for=delete namespace/hcp-node-admin --timeout=15m
      real kubectl apply --server-side -k deploy/hosted-token ;;
    'controller uninstall '*)
      check_options hcp-node-admin "$@"
      not_run 'TestControlPlaneControllerInstall runs it' ;;
    *) real hcp-node-admin "$@" ;;
  esac
}

# oc is kubectl with more commands. The API server has stand-ins for the types of OpenShift.
oc() {
  local args=() arg
  if [ "$1" = hcp-node ]; then
    hcp-node-admin "${@:2}"
    return
  fi
  for arg in "$@"; do
    case $arg in
      adm) continue ;; # certificate and taint are commands of kubectl itself
      CSR) arg=example ;;
      NODE) arg=worker-7 ;;
      POD)
        arg=
        for _ in {1..4500}; do
          arg=$(real kubectl -n hcp-node-agent-monitoring get pods -o jsonpath='{.items[*].metadata.name}')
          [ -z "$arg" ] || break
          sleep 0.2
        done
        arg=${arg%% *} ;;
    esac
    args+=("$arg")
  done
  case "$*" in
    *' delete -k '*) args+=(--wait=false) ;; # no kubelet ends the pods
    'create namespace '*) args+=(--dry-run=client) ;; # exists
    'wait '*' noderollout/'*)
      real kubectl wait --for=condition=Established crd/noderollouts.hcp-node-agent.io >/dev/null
      not_run 'no node of the NodePool is enrolled; TestRolloutConditions has the conditions'
      return ;;
  esac
  real kubectl "${args[@]}"
}

dnf() {
  local status=0 out
  out=$(real dnf --installroot="$root" --releasever=9 --setopt=reposdir=/nonexistent --assumeno "$@" 2>&1) || status=$?
  if [ $status -gt 1 ] || [[ $out = *'No such command'* ]]; then
    echo "$out" >&2
    return 1
  fi
  not_run 'there is no repository; make test-rpm installs, upgrades and removes the packages'
}

systemctl() {
  local verb=$1
  check_options systemctl "${@:2}"
  if ! real systemctl --help | grep "^ *$verb\b" >/dev/null; then
    echo "$block: systemctl has no command $verb" >&2
    return 1
  fi
  not_run 'it is about the services of a host'
}

journalctl() { check_options journalctl "$@"; }

systemd-creds() {
  check_options systemd-creds "$@"
  not_run 'it creates a key on the host'
}

curl() {
  local status=0
  real curl --proto =file "$@" 2>/dev/null || status=$?
  [ $status = 1 ] || return 1 # 1: the protocol is disabled; 2: an unknown option
  not_run 'its host does not exist'
}

ip() { real ip -n "$netns" "$@"; }

scp() {
  ls "${@:2:$#-2}" >/dev/null # -p FILE... TARGET
  not_run 'its host does not exist'
}

ssh() {
  real ssh -G "${@:1:$#}" >/dev/null
  while [[ $1 = -* ]]; do shift; done
  "${@:2}" # the command
}

make() { real make -C "$repository" -n "$@" >/dev/null; }

# tar unpacks the repository of a release. Its install.sh writes to /etc of the host, not to the scratch root.
tar() {
  if [ "$*" = "-C $root/usr/local/bin -xzf kubectl-hcp_node_*_linux_amd64.tar.gz kubectl-hcp_node" ]; then
    not_run 'make release-admin builds the archive'
    return
  fi
  if [ "$*" != "-C $root/opt -xzf hcp-node-agent_*_repository.tar.gz" ]; then
    echo "$block: unexpected arguments: tar $*" >&2
    return 1
  fi
  echo "echo '$block: not run, make test-release runs install.sh' >&2" |
    install -D -m 0755 /dev/stdin "$root/opt/hcp-node-agent-repository/install.sh"
}

skopeo() {
  not_run 'it copies an image to a registry of the site'
  echo sha256:0000000000000000000000000000000000000000000000000000000000000000
}

# Not in Debian, or without a host of their own.
ansible-playbook() { not_run 'TestAnsiblePlaybook checks the playbook'; }
hcp-node-acceptance() { not_run 'TestAcceptance runs it'; }
kubectl() { not_run 'it installs a plugin with krew'; }
ausearch() { not_run 'it reads the audit log of a host'; }
coreos-installer() {
  check_file --ignition-file "$@"
  not_run 'it writes a disk'
}
chronyc() { not_run 'it needs chronyd of a host'; }
fagenrules() { not_run 'it needs fapolicyd'; }
fapolicyd-cli() { not_run 'it needs fapolicyd'; }
gcloud() { not_run 'it needs an account at Google Cloud'; }
gpg() { not_run 'it creates a key in the keyring of the user'; }
nmcli() { not_run 'it needs NetworkManager of a host'; }
ovs-vsctl() { not_run 'it needs Open vSwitch of a host'; }
ping() { not_run 'the address is that of another node'; }
reposync() { not_run 'it needs repositories of Red Hat'; }
sos() { not_run 'make test-rpm runs it'; }
subscription-manager() { not_run 'it needs a subscription of Red Hat'; }
update-crypto-policies() { not_run 'it exists on RHEL only'; }
