// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/test/remedies"
)

// Each remedy works when it is pasted: in the state in which the agent prints it, or on a node. The remedy of
// a host that has not joined joins it.
func TestRemedies(t *testing.T) {
	ctx := newContext(t)
	mustOutput(ctx, t, forRemedies)
	remedies.Run(t, remedies.Node, func(script string) (remedies.Result, error) {
		// After the command of a remedy that restarts NetworkManager, br-ex has no address for some seconds, and CRI-O does
		// not start without.
		if err := environment.Machine.Await(ctx, "ip -4 route show default | grep ."); err != nil {
			return remedies.Result{}, err
		}
		result, err := environment.Machine.Run(ctx, script)
		return remedies.Result(result), err
	})
}

// forRemedies makes what the commands in the table of remedies change on a node.
const forRemedies = `
touch /root/cloned /root/lost /root/old /root/removed
ip link add remedies0 type veth peer name remedies2
ip link add remedies8 type dummy
ip link add remedies-bond type bond
for name in remedies remedies-deleted; do
  nmcli connection add type dummy con-name $name ifname remedies1 autoconnect no \
    ipv4.method disabled ipv6.method disabled >/dev/null
done
nmcli connection up remedies >/dev/null`
