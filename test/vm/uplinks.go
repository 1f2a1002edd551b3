// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"fmt"
	"strings"
)

// QEMU identifiers of the parts of an uplink.
func uplinkDevice(nic int) string  { return numbered("uplink", nic) }
func uplinkBackend(nic int) string { return numbered("tap", nic) }
func uplinkSlot(nic int) string    { return numbered("socket", nic) }

func numbered(name string, nic int) string {
	if nic == 0 {
		return name
	}
	return fmt.Sprintf("%s%d", name, nic)
}

// uplinks returns QEMU's arguments for the uplinks' network cards.
func (h hardware) uplinks() []string {
	var args []string
	for i, nic := range h.nics() {
		args = append(args, "-netdev", fmt.Sprintf("tap,id=%s,fd=%d", uplinkBackend(i), h.tapFD(i)))
		if len(h.NICs) > 0 {
			// Only a card behind a root port of its own can be hot-plugged.
			args = append(args, "-device", fmt.Sprintf("pcie-root-port,id=%s,chassis=%d", uplinkSlot(i), i+1))
		}
		if !h.missing[i] {
			args = append(args, "-device", h.uplink(i, nic))
		}
	}
	return args
}

// tapFD returns the file descriptor of an uplink's tap, or 0 in tests of the arguments.
func (h hardware) tapFD(nic int) int {
	if nic < len(h.tapFDs) {
		return h.tapFDs[nic]
	}
	return 0
}

// uplink returns the arguments of a network card.
func (c Config) uplink(i int, nic NIC) string {
	card := fmt.Sprintf("virtio-net-pci,id=%s,netdev=%s,romfile=,mac=%s", uplinkDevice(i), uplinkBackend(i), c.mac(i))
	if len(c.NICs) > 0 {
		// 802.3ad only aggregates links of known speed.
		card += fmt.Sprintf(",bus=%s,speed=1000,duplex=full", uplinkSlot(i))
	}
	if nic.Switch != nil {
		// With these offloads, no component would fill in the checksums.
		for _, offload := range strings.Fields(`csum gso guest_csum guest_tso4 guest_tso6 guest_ecn guest_ufo
			host_tso4 host_tso6 host_ecn host_ufo`) {
			card += "," + offload + "=off"
		}
	}
	return card
}

// controlSlot returns the root port of the control channel's card if the uplinks' cards have root
// ports. Without one, the kernel would find that card first and name it eth0.
func (h hardware) controlSlot() string {
	if len(h.NICs) == 0 {
		return ""
	}
	return ",bus=socket-" + controlBackend
}

// controlPort returns the arguments for that root port.
func (h hardware) controlPort() []string {
	if len(h.NICs) == 0 {
		return nil
	}
	return []string{"-device", fmt.Sprintf("pcie-root-port,id=socket-%s,chassis=%d", controlBackend, len(h.NICs)+1)}
}

// BootWithout is like [Machine.Boot], but without the network cards of some of several uplinks.
func (m *Machine) BootWithout(ctx context.Context, nics ...int) error {
	for _, nic := range nics {
		m.missing[nic] = true
	}
	return m.Boot(ctx)
}

// InsertNIC hot-plugs a network card that BootWithout omitted.
func (m *Machine) InsertNIC(ctx context.Context, nic int) error {
	if err := m.runQuietCommand(ctx, "device_add "+m.cfg.uplink(nic, m.cfg.NICs[nic])); err != nil {
		return err
	}
	delete(m.missing, nic)
	return m.cables[nic].updateCarrier(ctx)
}
