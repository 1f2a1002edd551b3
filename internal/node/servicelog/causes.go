// SPDX-License-Identifier: Apache-2.0

// Package servicelog reads the errors of kubelet, CRI-O and other units from the journal, makes
// their lines readable, and names the known causes. Start reading at Explain.
package servicelog

import (
	"regexp"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Cause is an explanation of a failure, derived from the log output of a
// program.
type Cause struct {
	Text   string
	Remedy report.Remedy
}

// FindCause returns the explanation of the newest line that matches a pattern,
// and that line.
func FindCause(lines []string, patterns func() []Pattern) (found Cause, line string, known bool) {
	if len(lines) == 0 {
		return Cause{}, "", false
	}
	candidates := patterns()
	for _, line := range slices.Backward(lines) {
		for _, candidate := range candidates {
			if match := candidate.pattern.FindStringSubmatchIndex(line); match != nil {
				fill := func(template string) string {
					return strings.TrimSpace(string(candidate.pattern.ExpandString(nil, template, line, match)))
				}
				found.Text = Shorten(fill(candidate.text), MaxMessage)
				found.Remedy = report.Remedy(fill(string(candidate.remedy)))
				return found, line, true
			}
		}
	}
	return Cause{}, "", false
}

// startMessages are parts of the errors that kubelet logs at every first start, until it has
// registered its Node.
var startMessages = []string{"getting the current node from lister", "Failed to initialize CSINode"}

// lastMessage returns the last message of a unit that is more than the exit of its main process, and
// that kubelet does not log at every first start. If there is none, it returns the exit, or "".
func lastMessage(lines []string) string {
	exit := ""
	for _, line := range slices.Backward(lines) {
		switch {
		case slices.ContainsFunc(startMessages, func(part string) bool { return strings.Contains(line, part) }):
		case !strings.Contains(line, "Main process exited"):
			return line
		case exit == "":
			exit = line
		}
	}
	return exit
}

// Explain returns the continuation of a sentence about a unit, from its error
// messages: the known cause, or else the last message.
func Explain(lines []string) (text string, remedy report.Remedy) {
	if c, _, known := FindCause(lines, knownCauses); known {
		return ": " + c.Text, c.Remedy
	}
	if last := lastMessage(lines); last != "" {
		return "; last error: " + Shorten(FormatLine(last), MaxExcerpt), ""
	}
	return "", ""
}

// Pattern matches an error message. text and remedy are templates of
// regexp.Expand.
type Pattern struct {
	pattern *regexp.Regexp
	text    string
	remedy  report.Remedy
}

const releaseMismatch = "the installed kubelet does not match the payload's release"

// knownCauses returns patterns for errors of kubelet, CRI-O and systemd that
// stop a node, as worded by kubelet 1.25 to 1.37, CRI-O 1.34 and systemd 250 to
// 257. The first match counts.
func knownCauses() []Pattern {
	return slices.Concat(unitCauses(), RuntimeCauses(), HostCauses(), clusterCauses())
}

// NewPattern returns the pattern of a regular expression and two templates.
func NewPattern(pattern, text string, remedy report.Remedy) Pattern {
	return Pattern{pattern: regexp.MustCompile(pattern), text: text, remedy: remedy}
}

// unitCauses returns patterns for errors that keep a service from running.
func unitCauses() []Pattern {
	const sameRelease = "kubelet --version # then install the kubelet of the payload's release and run: systemctl " +
		"restart kubelet"
	return []Pattern{
		// systemd
		NewPattern(`Unit (\S+) not found`, "$1, which it requires, does not exist on this host",
			"dnf provides '*/$1' # shows the package to install"),
		NewPattern(`status=203/EXEC`, "its binary cannot be executed: it is not installed, or SELinux or fapolicyd denies it",
			"ausearch -m avc,fanotify -ts recent; systemctl cat kubelet"),
		NewPattern(`status=226/NAMESPACE`, "systemd cannot set up the directories that the unit lists",
			"journalctl -b -u kubelet"),

		// kubelet's flags and configuration
		NewPattern(`unknown (?:shorthand )?flag: (\S+?)"?(?:\s|$)`,
			"it does not support the flag $1 of its unit: "+releaseMismatch, sameRelease),
		NewPattern(`unrecognized feature gate: (\w+)`,
			"it does not support the feature gate $1 of its configuration: "+releaseMismatch, sameRelease),
		NewPattern(`cannot set feature gate (\w+) to (true|false), feature is locked`,
			"it does not support $2 for the feature gate $1 of its configuration: "+releaseMismatch, sameRelease),
		NewPattern(`no kind \\*"KubeletConfiguration\\*" is registered for version \\*"([^"\\]+)`,
			"it does not support version $1 of its configuration: "+releaseMismatch, sameRelease),
		NewPattern(`strict decoding error: unknown field \\*"([^"\\]+)`,
			"it does not support the setting $1 of its configuration: "+releaseMismatch, sameRelease),
		NewPattern(`running with swap on is not supported`, "swap is enabled, and this kubelet does not start with swap",
			"swapoff -a # and remove swap from /etc/fstab"),
		NewPattern(`not run on a host using cgroup v1`, "this release does not support cgroup v1",
			"grubby --update-kernel=ALL --args=systemd.unified_cgroup_hierarchy=1 # then drain the node and reboot it"),
		NewPattern(`invalid kernel flag: ([\w./-]+), expected value: (\d+), actual value: (\d+)`,
			"sysctl $1 is $3 and must be $2", "hcp-node-agent join # sets the sysctl again; to show it: sysctl $1"),
		NewPattern(`failed to (?:load|validate) [kK]ubelet config(?:uration)?(?: file)?, (?:path: ([^,]+), `+
			`)?error: (.+?)"?$`,
			"it cannot use its configuration $1: $2", "hcp-node-agent status # shows whether the file was changed"),
		NewPattern(`unable to load client CA file ([^:]+): (.+?)"?$`, "it cannot read the cluster's CA $1: $2",
			"hcp-node-agent join # writes the file again"),
		NewPattern(`unable to load bootstrap kubeconfig: stat ([^:]+): no such file`,
			"it has no client certificate and no bootstrap credential ($1 does not exist)",
			"hcp-node-agent join --user-data USER_DATA"),
		NewPattern(`listen tcp (\S+?): bind: address already in use`, "another process listens on $1", "ss -ltnp"),
	}
}

// RuntimeCauses returns patterns for errors between kubelet and CRI-O.
func RuntimeCauses() []Pattern {
	return []Pattern{
		NewPattern(`hostPath type check failed: (\S+) is not an? (\w+)`,
			"$1, which it mounts from this host, does not exist or is not a $2",
			"hcp-node-agent status # shows whether the file was removed; hcp-node-agent join writes the payload's "+
				"files again"),
		NewPattern(`references non-existent (secret|config) key: ([^\s"\\]+)`,
			"the $1 that it mounts has no key $2", "oc get pods -A -o wide | grep ContainerCreating"),
		NewPattern(`cri-o configured with (\w+) cgroup manager, but (?:did not receive|received systemd) slice `+
			`as parent`,
			"kubelet and CRI-O use different cgroup drivers (CRI-O's is $1)", "crio config 2>/dev/null | grep "+
				"cgroup_manager; grep cgroupDriver /etc/kubernetes/kubelet.conf"),
		NewPattern(`expected cgroupsPath to be of format`, "kubelet and CRI-O use different cgroup drivers",
			"crio config 2>/dev/null | grep cgroup_manager; grep cgroupDriver /etc/kubernetes/kubelet.conf"),
		NewPattern(`dial unix \S*crio\.sock: connect: (no such file or directory|connection refused)`,
			"CRI-O does not respond on its socket ($1)", "systemctl status crio"),
	}
}

// HostCauses returns patterns for errors of the host or its network, which
// can affect every process, also in pods.
func HostCauses() []Pattern {
	return []Pattern{
		NewPattern(`no space left on device`, "a file system of this host is full",
			"df -h /var/lib/kubelet /var/lib/containers /var/log; df -i /var"),
		NewPattern(`too many open files|inotify_(?:init|add_watch)\S*: no space`,
			"the kernel's limit of open files or inotify watches is reached",
			"sysctl fs.inotify fs.file-nr"),
		NewPattern(`proxyconnect tcp: (.+?)"?$`, "the proxy does not forward its requests: $1",
			"systemctl show -P Environment kubelet crio | grep -io 'https*_proxy=[^ ]*'"),
		NewPattern(`current time (\S+?) is before ([\dTZ:.+-]+)`,
			"this host's clock is behind: it shows $1, but a certificate is not valid before $2",
			"chronyc makestep # or: timedatectl set-ntp true"),
		NewPattern(`current time (\S+?) is after ([\dTZ:.+-]+)`,
			"a certificate expired at $2, and this host's clock shows $1", "date -u; chronyc makestep # if the "+
				"clock is "+
				"ahead"),
		NewPattern(`(?:lookup ([\w.-]+)(?: on (\S+?))?: )(no such host|server misbehaving|i/o timeout|Temporary `+
			`failure in name resolution|connection refused)`,
			"DNS does not resolve $1 ($2 $3)", "getent ahosts $1; cat /etc/resolv.conf"),
		NewPattern(`dial tcp (172\.20\.0\.1:\d+|\[fd00::1\]:\d+): (?:connect: )?(connection refused|i/o `+
			`timeout|no route to host|network is unreachable)`,
			"it cannot reach the API server through kube-apiserver-proxy, the pod on this host that listens on $1 "+
				"($2)",
			"crictl ps -a --name 'haproxy|kubernetes-default-proxy'; "+
				"ip address show lo; systemctl status apiserver-ip"),
		NewPattern(`dial tcp (\S+?): (?:connect: )?(connection refused|i/o timeout|no route to host|network is `+
			`unreachable)`,
			"it cannot reach $1 ($2)", "curl -kvm 20 https://$1/version"),
	}
}

// clusterCauses returns patterns for requests of kubelet that the API server
// rejects.
func clusterCauses() []Pattern {
	return []Pattern{
		NewPattern(`is not allowed to modify (?:node|labels|taints)|not allowed to set the following labels`,
			"the API server rejects kubelet's updates of its Node (name, labels or taints)",
			"journalctl -b -u kubelet | grep forbidden"),
		NewPattern(`Unable to register node with API server" err="([^"\\]+)`,
			"the API server rejects its Node: $1", "journalctl -b -u kubelet | grep register"),
		NewPattern(`/apis?/.*certificate signed by unknown authority`,
			"it does not trust the API server's certificate, or the API server does not trust its certificate",
			"hcp-node-agent join # compares the cluster with the kubeconfig"),
		NewPattern(`Unauthorized`, "the API server rejects its certificate",
			"hcp-node-agent join --user-data USER_DATA # requests a new certificate"),
	}
}
