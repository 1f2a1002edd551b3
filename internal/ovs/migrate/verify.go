// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/packetfilter"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
)

// verify checks that br-ex has the addressing of the uplink: addresses, default
// routes, MTU, name servers and search domains. It also checks that the packet filter
// accepts SSH connections, and that each gateway, the name servers that responded
// before, and the endpoints of the Request respond.
func (m *migration) verify(ctx context.Context) error {
	err := m.awaitState(ctx, ovs.BridgeName, func(facts ovs.Facts) string {
		return cmp.Or(m.Missing(facts, ovs.BridgeName), m.ipv6.missing(facts))
	})
	if err != nil {
		return err
	}
	if err := m.ipv6.release(); err != nil {
		return err
	}
	if err := probeGateways(ctx, ovs.BridgeName, m.AddressState); err != nil {
		return err
	}
	if err := checkNameservers(ctx, ovs.BridgeName, m.nameservers); err != nil {
		return err
	}
	if err := m.checkAccess(ctx); err != nil {
		return err
	}
	return m.checkEndpoints(ctx, m.endpoints)
}

// checkAccess checks that the rules of the packet filter that are loaded now accept the connections to sshd that they
// accepted on the uplink.
func (m *migration) checkAccess(ctx context.Context) error {
	if len(m.Access) == 0 {
		return nil
	}
	rules, err := packetfilter.Read(ctx)
	if err != nil {
		m.Log.Note("it is not known whether the packet filter accepts packets on br-ex: " + err.Error())
		return nil //nolint:nilerr // the host can be reached unless the rules prevent it
	}
	for _, connection := range m.Access {
		if !rules.Accepts(connection) {
			return fmt.Errorf("the packet filter does not accept new SSH connections to port %d of %s on %s",
				connection.Port, connection.Address, connection.Link)
		}
	}
	return nil
}

// awaitState polls until nothing is missing on link.
func (d *Driver) awaitState(ctx context.Context, link string, missing func(ovs.Facts) string) error {
	limited, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	last := ""
	err := poll(limited, "the addresses and the default route", func() (bool, error) {
		facts, err := ovs.GatherAddresses(ctx, d.NM.Reader())
		if err == nil {
			last = missing(facts)
		}
		return last == "", err
	})
	if err != nil && last != "" {
		return fmt.Errorf("the configuration of %s is not complete: %s", link, last)
	}
	return err
}

// probeGateways probes the gateway of each family.
func probeGateways(ctx context.Context, link string, state ovs.AddressState) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for _, gateway := range state.Gateways() {
		if err := hostnet.ProbeNeighbour(ctx, link, gateway); err != nil {
			return fmt.Errorf("probing the gateway: %w", err)
		}
	}
	return nil
}

// poll calls isDone every 50 ms until it returns true or an error.
func poll(ctx context.Context, awaited string, isDone func() (bool, error)) error {
	for {
		done, err := isDone()
		if ctx.Err() == nil && (err != nil || done) {
			return err
		}
		if err := wait.Sleep(ctx, 50*time.Millisecond); err != nil {
			return fmt.Errorf("waiting for %s: %w", awaited, err)
		}
	}
}
