// SPDX-License-Identifier: Apache-2.0

package openvswitch

import (
	"context"
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
)

// DeleteBridgeNoWait deletes a bridge from the database without waiting for ovs-vswitchd,
// which may be stopped. A missing bridge is not an error. The next start of
// ovs-vswitchd then does not attach a NIC to it.
func DeleteBridgeNoWait(ctx context.Context, bridge string) error {
	if _, err := vsctl(ctx, "--no-wait", "--if-exists", "del-br", bridge); err != nil {
		return fmt.Errorf("removing Open vSwitch bridge %s: %w", bridge, err)
	}
	return nil
}

// kernelDatapath is the kernel's datapath with the ports of all bridges.
const kernelDatapath = "system@ovs-system"

// DetachFromDatapath detaches a NIC from the kernel's datapath. The datapath remains when
// ovs-vswitchd stops, but only ovs-vswitchd can forward: without it an attached
// NIC receives nothing.
func DetachFromDatapath(ctx context.Context, nic string) error {
	if _, err := command.Run(ctx, "ovs-dpctl", "del-if", kernelDatapath, nic); err != nil {
		return fmt.Errorf("removing %s from the kernel's Open vSwitch datapath: %w", nic, err)
	}
	return nil
}
