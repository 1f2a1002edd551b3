// SPDX-License-Identifier: Apache-2.0

package openvswitch

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

// DetachFromDatapath detaches a NIC from the kernel's datapath. The datapath remains when
// ovs-vswitchd stops, but only ovs-vswitchd can forward: without it an attached
// NIC receives nothing.
func DetachFromDatapath(ctx context.Context, nic string) error {
	_, err := command.Run(ctx, "ovs-dpctl", "del-if", "system@"+Datapath, nic)
	return wrap.Errorf(err, "removing %s from the kernel's Open vSwitch datapath", nic)
}
