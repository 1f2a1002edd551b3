package vm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
)

// Address is the machine's IPv4 address on the uplink, on eth0 or on the bridge
// that eth0 was moved into.
func (m *Machine) Address(ctx context.Context) (netip.Addr, error) {
	listing, err := m.Output(ctx, "ip -json -4 address show scope global up")
	if err != nil {
		return netip.Addr{}, err
	}
	return uplinkAddress([]byte(listing))
}

// uplinkAddress picks it from ip's listing: br-ex's, else eth0's.
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

// Uplink is the administrator's way in: ssh over the network that the product
// changes. The connection is made when it is first used; hold it with
// [Channel.Connect] to see whether it survives. The machine keeps one and
// closes it when it stops.
func (m *Machine) Uplink(ctx context.Context) (*Channel, error) {
	if m.uplink != nil {
		return m.uplink, nil
	}
	address, err := m.Address(ctx)
	if err != nil {
		return nil, err
	}
	enter := []string{"nsenter", "--net=" + m.cfg.nics()[0].Namespace, "--"}
	m.uplink = newChannel(m.cfg.Image, m.sockets, "uplink", enter, address.String(), "22")
	return m.uplink, nil
}
