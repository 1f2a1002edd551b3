// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"
)

// DropGateway drops all packets that the router of a segment sends, until [Lab.RemoveFaults].
// Packets of the peer still pass.
func (l *Lab) DropGateway(ctx context.Context, vlan int) error {
	return l.drop(ctx, Segment{VLAN: vlan}.socket("gw"))
}

// DropAll drops all packets that the router and the peer of a segment send.
func (l *Lab) DropAll(ctx context.Context, vlan int) error {
	if err := l.DropGateway(ctx, vlan); err != nil {
		return err
	}
	return l.drop(ctx, Segment{VLAN: vlan}.socket("peer"))
}

func (l *Lab) drop(ctx context.Context, socket string) error {
	return l.ofctl(ctx, "--names", "add-flow", l.management(), fmt.Sprintf("priority=100,in_port=%q,actions=drop", socket))
}

// RemoveFaults removes all drop rules.
func (l *Lab) RemoveFaults(ctx context.Context) error {
	if err := l.ofctl(ctx, "del-flows", l.management()); err != nil {
		return err
	}
	return l.ofctl(ctx, "add-flow", l.management(), "priority=0,actions=normal")
}

func (l *Lab) management() string { return "unix:" + l.fabric.file(bridge+".mgmt") }

func (l *Lab) ofctl(ctx context.Context, args ...string) error {
	_, err := l.fabric.tool(ctx, "ovs-ofctl", args...)
	return err
}

// LACPStatus returns the switch's LACP status of the machine's ports.
func (l *Lab) LACPStatus(ctx context.Context) (string, error) {
	return l.fabric.appctl(ctx, "lacp/show")
}
