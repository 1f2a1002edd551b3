package migrate

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// verify checks that br-ex has the addressing of the uplink: addresses, default
// routes, MTU, name servers and search domains. It also checks that each
// gateway, the name servers that responded before, and the endpoints of the Request
// respond.
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
	return m.checkEndpoints(ctx, m.endpoints)
}

// verifyRestored checks that the NIC has the addressing of br-ex again. After a
// long time the DHCP server may assign another address, which is a warning and
// not an error.
func (d *Driver) verifyRestored(ctx context.Context, o ovs.Backup, carried ovs.AddressState, hold *ipv6Addresses) error {
	missing := ""
	usable := func(facts ovs.Facts) string {
		missing = cmp.Or(carried.Missing(facts, o.Uplink), hold.missing(facts))
		return carried.Unusable(facts, o.Uplink)
	}
	limited, cancel := context.WithTimeout(ctx, fullRestoreTimeout)
	defer cancel()
	err := d.awaitState(limited, o.Uplink, func(facts ovs.Facts) string { return cmp.Or(usable(facts), missing) })
	if err != nil {
		err = d.awaitState(ctx, o.Uplink, usable)
	}
	if err != nil {
		return err
	}
	if missing != "" {
		d.Log.Warn(fmt.Sprintf("%s is not quite as it was: %s", o.Uplink, missing), report.Remedy("nmcli device show "+o.Uplink))
		return nil
	}
	// With its own profile, addresses and routes the uplink is in its original
	// state: if the gateway does not respond even so, the cause is not on this
	// host.
	if d.gatewayErr = probeGateways(ctx, o.Uplink, carried); d.gatewayErr != nil {
		d.Log.Warn(fmt.Sprintf("%s is as it was before, but %v", o.Uplink, d.gatewayErr), "# look at the network outside this host: the gateway, the switch, the cable")
	}
	return nil
}

// awaitState polls until nothing is missing on link.
func (d *Driver) awaitState(ctx context.Context, link string, missing func(ovs.Facts) string) error {
	limited, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	last := ""
	err := poll(limited, "addresses and default route", func() (bool, error) {
		facts, err := d.gatherAddresses(ctx)
		if err == nil {
			last = missing(facts)
		}
		return last == "", err
	})
	if err != nil && last != "" {
		return fmt.Errorf("%s is not as it should be: %s", link, last)
	}
	return err
}

// probeGateways probes the gateway of each family.
func probeGateways(ctx context.Context, link string, carried ovs.AddressState) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for _, gateway := range carried.Gateways() {
		if _, err := hostnet.ProbeNeighbour(ctx, link, gateway); err != nil {
			return fmt.Errorf("asking the gateway: %w", err)
		}
	}
	return nil
}

func (d *Driver) gatherAddresses(ctx context.Context) (ovs.Facts, error) {
	var facts ovs.Facts
	var err error
	if facts.Links, err = hostnet.Links(); err != nil {
		return facts, err
	}
	if facts.Routes, err = hostnet.DefaultRoutes(); err != nil {
		return facts, err
	}
	facts.Devices, err = d.NM.Devices(ctx)
	return facts, err
}

// poll calls so every 50 ms until it returns true or an error.
func poll(ctx context.Context, what string, so func() (bool, error)) error {
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		ok, err := so()
		if ctx.Err() == nil && (err != nil || ok) {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, ctx.Err())
		}
	}
}
