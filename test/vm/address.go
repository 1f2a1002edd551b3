// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
)

// Address returns the machine's IPv4 address on the uplink, which is on eth0 or on br-ex.
func (m *Machine) Address(ctx context.Context) (netip.Addr, error) {
	listing, err := m.Output(ctx, "ip -json -4 address show scope global up")
	if err != nil {
		return netip.Addr{}, err
	}
	return uplinkAddress([]byte(listing))
}

// uplinkAddress returns the address of br-ex, or else of eth0, from ip's JSON output.
func uplinkAddress(listing []byte) (netip.Addr, error) {
	var links []struct {
		Name      string `json:"ifname"`
		Addresses []struct {
			Local netip.Addr
		} `json:"addr_info"`
	}
	if err := json.Unmarshal(listing, &links); err != nil {
		return netip.Addr{}, fmt.Errorf("reading ip's listing: %w", err)
	}
	for _, name := range []string{"br-ex", "eth0"} {
		for _, link := range links {
			if link.Name == name && len(link.Addresses) > 0 {
				return link.Addresses[0].Local, nil
			}
		}
	}
	return netip.Addr{}, errors.New("the uplink has no IPv4 address")
}

// Uplink returns an ssh channel over the network that the agent changes, as administrators use.
// The connection is made on first use. Keep it open with [Channel.Connect] to check whether it
// survives a change. The machine has one such channel and closes it when it stops.
func (m *Machine) Uplink(ctx context.Context) (*Channel, error) {
	if m.uplink != nil {
		return m.uplink, nil
	}
	address, err := m.Address(ctx)
	if err != nil {
		return nil, err
	}
	m.uplink = newChannel(m.cfg.Image, m.sockets, "uplink", m.cfg.nics()[0].enter(), address.String(), "22")
	return m.uplink, nil
}
