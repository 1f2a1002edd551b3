package vm

import (
	"context"
	"fmt"
	"strings"
)

// Names that QEMU's monitor knows the parts of an uplink by.
func uplinkDevice(nic int) string  { return numbered("uplink", nic) }
func uplinkBackend(nic int) string { return numbered("tap", nic) }
func uplinkSlot(nic int) string    { return numbered("socket", nic) }

func numbered(name string, nic int) string {
	if nic == 0 {
		return name
	}
	return fmt.Sprintf("%s%d", name, nic)
}

// uplinks are QEMU's arguments for the uplinks' cards.
func (h hardware) uplinks() []string {
	var args []string
	for i, nic := range h.nics() {
		args = append(args, "-netdev", fmt.Sprintf("tap,id=%s,fd=%d", uplinkBackend(i), h.tapFD(i)))
		if len(h.NICs) > 0 {
			// Only behind a port of its own can a card be put in later.
			args = append(args, "-device", fmt.Sprintf("pcie-root-port,id=%s,chassis=%d", uplinkSlot(i), i+1))
		}
		if !h.missing[i] {
			args = append(args, "-device", h.uplink(i, nic))
		}
	}
	return args
}

// tapFD is 0 when only the arguments' form matters.
func (h hardware) tapFD(nic int) int {
	if nic < len(h.tapFDs) {
		return h.tapFDs[nic]
	}
	return 0
}

// uplink describes a card.
func (c Config) uplink(i int, nic NIC) string {
	card := fmt.Sprintf("virtio-net-pci,id=%s,netdev=%s,romfile=,mac=%s", uplinkDevice(i), uplinkBackend(i), c.mac(i))
	if len(c.NICs) > 0 {
		// 802.3ad only bundles cards of a known speed.
		card += fmt.Sprintf(",bus=%s,speed=1000,duplex=full", uplinkSlot(i))
	}
	if nic.Switch != nil {
		// Checksums that somebody else is to fill in would stay empty.
		for _, offload := range strings.Fields(`csum gso guest_csum guest_tso4 guest_tso6 guest_ecn guest_ufo
			host_tso4 host_tso6 host_ecn host_ufo`) {
			card += "," + offload + "=off"
		}
	}
	return card
}

// controlSlot puts the control channel's card behind a port too when the
// uplinks are: the kernel finds first what is not, and it would become eth0.
func (h hardware) controlSlot() string {
	if len(h.NICs) == 0 {
		return ""
	}
	return ",bus=socket-" + controlBackend
}

// controlPort is the argument for that port.
func (h hardware) controlPort() []string {
	if len(h.NICs) == 0 {
		return nil
	}
	return []string{"-device", fmt.Sprintf("pcie-root-port,id=socket-%s,chassis=%d", controlBackend, len(h.NICs)+1)}
}

// BootWithout is [Machine.Boot] without the card of one of several uplinks.
func (m *Machine) BootWithout(ctx context.Context, nic int) error {
	m.missing[nic] = true
	return m.Boot(ctx)
}

// InsertNIC puts the card in that BootWithout left out.
func (m *Machine) InsertNIC(ctx context.Context, nic int) error {
	if err := m.silent(ctx, "device_add "+m.cfg.uplink(nic, m.cfg.NICs[nic])); err != nil {
		return err
	}
	delete(m.missing, nic)
	return m.cables[nic].connect(ctx)
}
