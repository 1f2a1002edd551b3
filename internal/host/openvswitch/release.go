// SPDX-License-Identifier: Apache-2.0

package openvswitch

import (
	"context"
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
)

// DetachFromDatapath detaches a NIC from the kernel's datapath. The datapath remains when
// ovs-vswitchd stops, but only ovs-vswitchd can forward: without it an attached
// NIC receives nothing.
func DetachFromDatapath(ctx context.Context, nic string) error {
	if _, err := command.Run(ctx, "ovs-dpctl", "del-if", "system@"+Datapath, nic); err != nil {
		return fmt.Errorf("removing %s from the kernel's Open vSwitch datapath: %w", nic, err)
	}
	return nil
}
