// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
)

// TestProvisionedHost tests a node without the agent, as it is on RHCOS: Ignition provisions the host with the plain
// user data of the control plane, and units of the payload boot the payload's OS image, attach the uplink to br-ex and
// start kubelet, also after another boot.
func TestProvisionedHost(t *testing.T) {
	ctx := newContext(t)
	address := uplinkAddress(ctx, t)
	image, err := environment.PushNodeImage("9.6.20251028-0", nil)
	must(t, err)
	provision(ctx, t, image, nil)
	checkContains(t, mustOutput(ctx, t, "cat "+testenv.VersionFile+"; cat /proc/cmdline"), "9.6.20251028-0", " psi=0")
	mustOutput(ctx, t, "! ls "+ignition.MachineConfigPath+" && ls "+ignition.MachineConfigPath+".bak")

	approveCSRs(ctx, t)
	awaitReadyNode(ctx, t)
	_, err = environment.RunPod(ctx, "provisioned")
	must(t, err)
	checkProvisioned(ctx, t, address)
	must(t, environment.Machine.Reboot(ctx))
	awaitReadyNode(ctx, t)
	checkProvisioned(ctx, t, address)
}

// checkProvisioned checks that br-ex has the address, and that no unit has failed.
func checkProvisioned(ctx context.Context, t *testing.T, address string) {
	t.Helper()
	if got := mustOutput(ctx, t, "ip -json -4 address show br-ex | jq -r '.[].addr_info[].local'"); got != address {
		t.Errorf("br-ex has the address %q, want that of the uplink, %s", got, address)
	}
	if failed := mustOutput(ctx, t, "systemctl --failed --plain --no-legend"); failed != "" {
		t.Errorf("failed units:\n%s", failed)
	}
}

// provision provisions the machine with user data, by default that of the control plane, and waits until it has booted
// the OS image of the payload.
func provision(ctx context.Context, t *testing.T, osImage string, userData []byte) {
	t.Helper()
	payload, err := environment.NativePayload(osImage)
	must(t, err)
	content, err := json.Marshal(payload)
	must(t, err)
	must(t, environment.ControlPlane.ReplacePayload(ctx, content))
	if userData == nil {
		userData, err = environment.ControlPlane.CurrentUserData(ctx)
		must(t, err)
	}
	must(t, environment.Provision(ctx, userData))
	must(t, environment.AwaitOSImage(ctx, osImage))
}

// uplinkAddress returns the IPv4 address of the interface with the default route.
func uplinkAddress(ctx context.Context, t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(mustOutput(ctx, t, "ip -json -4 route show default | jq -r 'first(.[]).prefsrc'"))
}
