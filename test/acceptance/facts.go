// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strings"
)

// factsScript prints one KEY=VALUE per line. A program that does not exist prints nothing.
const factsScript = `
exec 2>/dev/null
first() { head -n 1 | tr -d '\r'; }
echo "os=$(. /etc/os-release && echo "$PRETTY_NAME")"
echo "time=$(LC_ALL=C date '+%m/%d/%Y %H:%M:%S')"
echo "kernel=$(uname -r)"
echo "architecture=$(uname -m)"
echo "selinux=$(getenforce || echo absent)"
echo "fips=$(cat /proc/sys/crypto/fips_enabled || echo 0)"
echo "systemd=$(systemctl --version | first)"
echo "networkManager=$(nmcli --version | first)"
echo "openvswitch=$(ovs-vsctl --version | first)"
echo "kubelet=$(kubelet --version | first)"
echo "crio=$(crio --version | first)"
echo "agent=$(hcp-node-agent version | first)"
echo "agentPackage=$(rpm -q hcp-node-agent | grep -v 'not installed' | first)"
echo "joined=$(ls -d /var/lib/hcp-node-agent/join.json)"
echo "kubeletState=$(systemctl is-active kubelet)"
echo "bridge=$(ls -d /sys/class/net/br-ex)"
echo "podman=$(podman ps -q | wc -l)"
echo "docker=$(docker ps -q | wc -l)"
echo "crictl=$(crictl ps -q | wc -l)"
echo "guests=$(virsh list --name | grep -c .)"
echo "machines=$(machinectl list --no-legend | grep -c .)"
exit 0
`

// facts are the output of factsScript by its keys.
type facts map[string]string

func gatherFacts(ctx context.Context, h *host) (facts, error) {
	out, err := h.output(ctx, factsScript)
	if err != nil {
		return nil, err
	}
	return parseFacts(out), nil
}

func parseFacts(out string) facts {
	f := facts{}
	for line := range strings.Lines(out) {
		if key, value, found := strings.Cut(strings.TrimSpace(line), "="); found {
			f[key] = value
		}
	}
	return f
}

// refusals returns why the test must not use the host. hasPackage is whether the test installs the agent.
func (f facts) refusals(hasPackage bool) []string {
	var reasons []string
	refuse := func(isRefused bool, reason string) {
		if isRefused {
			reasons = append(reasons, reason)
		}
	}
	runs := func(key string) bool { return f[key] != "" && f[key] != "0" }
	refuse(f["joined"] != "", "the agent has joined it to a cluster: hcp-node-agent leave")
	refuse(f["joined"] == "" && f["kubeletState"] == "active", "it runs kubelet: it is a node already")
	refuse(f["joined"] == "" && f["bridge"] != "", "it has the bridge br-ex")
	refuse(runs("podman") || runs("docker") || runs("crictl"), "it runs containers")
	refuse(runs("guests") || runs("machines"), "it runs virtual machines")
	refuse(f["agent"] == "" && !hasPackage, "it has no hcp-node-agent: use -package FILE")
	refuse(f["agentPackage"] != "" && hasPackage, "it has the package "+f["agentPackage"]+" already: leave -package out")
	return reasons
}
