// SPDX-License-Identifier: Apache-2.0

// Package openvswitch reads and edits the Open vSwitch database through
// ovs-vsctl. It makes no decisions.
package openvswitch

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

// CheckRunning returns an error if ovs-vswitchd does not respond. The database
// can run without it, and then every change waits for it.
func CheckRunning(ctx context.Context) error {
	_, err := command.Run(ctx, "ovs-appctl", "--timeout=5", "--target=ovs-vswitchd", "version")
	return err
}

// RunningVersion returns the version of the running ovs-vswitchd, such as 3.5.0-38.el9fdp.
func RunningVersion(ctx context.Context) (string, error) {
	output, err := command.Run(ctx, "ovs-appctl", "--timeout=5", "--target=ovs-vswitchd", "version")
	if err != nil {
		return "", fmt.Errorf("reading the version of ovs-vswitchd: %w", err)
	}
	line, _, _ := strings.Cut(output, "\n") // ovs-vswitchd (Open vSwitch) VERSION
	words := strings.Fields(line)
	if len(words) == 0 {
		return "", errors.New("reading the version of ovs-vswitchd: no output")
	}
	return words[len(words)-1], nil
}

// ConfigGeneration returns a number that every change of the database increments.
func ConfigGeneration(ctx context.Context) (string, error) {
	output, err := vsctl(ctx, "get", "Open_vSwitch", ".", "next_cfg")
	return strings.TrimSpace(output), wrap.Errorf(err, "reading the Open vSwitch database")
}

// Attachment describes a NIC as a port of a bridge, in rows that belong to
// NetworkManager profiles. NetworkManager's plugin identifies its rows by the
// profile's UUID (_add_interface in nm-ovsdb.c), so it takes these over. It
// would insert a second port beside foreign rows.
type Attachment struct {
	Bridge, NIC                string
	PortProfile, DeviceProfile string // UUIDs
}

// UplinkPort is the OpenFlow port number that the uplink requests in its
// bridge. OVN-Kubernetes adds flows with that number. Without a request the
// uplink gets another number when NetworkManager restarts and creates the
// bridge again.
const UplinkPort = 1

// AttachPort attaches a NIC to a bridge in one transaction and waits until
// ovs-vswitchd has applied it.
func AttachPort(ctx context.Context, a Attachment) error {
	const owner = "external_ids:NM.connection.uuid="
	_, err := vsctl(ctx, "add-port", a.Bridge, a.NIC,
		"--", "set", "Port", a.NIC, owner+a.PortProfile,
		"--", "set", "Interface", a.NIC, "type=system", fmt.Sprintf("ofport_request=%d", UplinkPort), owner+a.DeviceProfile)
	return wrap.Errorf(err, "attaching %s to %s", a.NIC, a.Bridge)
}

// DeleteBridge deletes a bridge and its ports. A missing bridge is not an error. With the option
// "--no-wait" it does not wait for ovs-vswitchd, which may be stopped; the next start of
// ovs-vswitchd then does not attach a NIC to the bridge.
func DeleteBridge(ctx context.Context, name string, options ...string) error {
	_, err := vsctl(ctx, append(options, "--if-exists", "del-br", name)...)
	return wrap.Errorf(err, "removing Open vSwitch bridge %s", name)
}

func vsctl(ctx context.Context, args ...string) (string, error) {
	return command.Run(ctx, "ovs-vsctl", append([]string{"--timeout=10"}, args...)...)
}
