package vm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
)

// CutLink pulls the uplink's cable: the card loses its carrier.
func (m *Machine) CutLink(ctx context.Context) error { return m.setCarrier(ctx, false) }

// BlackholeLink lets the uplink's segment fail further away: the carrier stays
// and nothing passes in either direction.
func (m *Machine) BlackholeLink(ctx context.Context) error { return m.tap.unplug(ctx) }

// RestoreLink undoes CutLink and BlackholeLink.
func (m *Machine) RestoreLink(ctx context.Context) error {
	if err := m.tap.plug(ctx); err != nil {
		return err
	}
	return m.setCarrier(ctx, true)
}

func (m *Machine) setCarrier(ctx context.Context, up bool) error {
	return m.qmp.execute(ctx, "set_link", map[string]any{"name": uplinkDevice, "up": up}, nil)
}

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
	enter := []string{"nsenter", "--net=" + m.cfg.Network.Namespace, "--"}
	m.uplink = newChannel(m.cfg.Image, m.sockets, "uplink", enter, address.String(), "22")
	return m.uplink, nil
}
