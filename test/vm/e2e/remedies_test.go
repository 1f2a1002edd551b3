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
		result, err := environment.Machine.Run(ctx, waitForNetwork+script)
		return remedies.Result(result), err
	})
}

// waitForNetwork waits until the host has an address. After the command of a remedy that restarts NetworkManager, br-ex
// has none for some seconds, and CRI-O does not start without.
const waitForNetwork = `for i in {1..60}; do test -n "$(ip -4 route show default)" && break; sleep 1; done
`

// forRemedies makes what the commands in the table of remedies change on a node.
const forRemedies = `
touch /root/cloned /root/lost /root/old /root/removed
ip link add remedies0 type veth peer name remedies2
ip link add remedies8 type dummy
for name in remedies remedies-deleted; do
  nmcli connection add type dummy con-name $name ifname remedies1 autoconnect no \
    ipv4.method disabled ipv6.method disabled >/dev/null
done
nmcli connection up remedies >/dev/null`
