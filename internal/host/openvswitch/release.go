package openvswitch

import (
	"context"
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// Forget removes a bridge from the database without waiting for the switch,
// which may not run; one that is not there is fine. The next start of the
// switch takes no NIC for it any more.
func Forget(ctx context.Context, bridge string) error {
	if _, err := vsctl(ctx, "--no-wait", "--if-exists", "del-br", bridge); err != nil {
		return fmt.Errorf("removing Open vSwitch bridge %s: %w", bridge, err)
	}
	return nil
}

// kernelDatapath is where the kernel keeps the ports of all bridges.
const kernelDatapath = "system@ovs-system"

// Release takes a NIC out of the kernel's datapath. That outlives the switch,
// which alone can forward: without it a NIC in there receives nothing.
func Release(ctx context.Context, nic string) error {
	if _, err := host.Run(ctx, "ovs-dpctl", "del-if", kernelDatapath, nic); err != nil {
		return fmt.Errorf("taking %s out of the kernel's Open vSwitch datapath: %w", nic, err)
	}
	return nil
}
