package ovs

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// Status is how br-ex is now.
type Status struct {
	Present   bool           `json:"present"` // it is there and carries the default route
	Uplink    string         `json:"uplink,omitempty"`
	Addresses []netip.Prefix `json:"addresses,omitempty"`
}

// LookStatus looks at br-ex by the kernel and the Open vSwitch database; it
// needs no NetworkManager.
func LookStatus(ctx context.Context) (Status, error) {
	var facts Facts
	var err error
	if facts.Links, err = host.Links(); err != nil {
		return Status{}, err
	}
	if facts.Routes, err = host.DefaultRoutes(); err != nil {
		return Status{}, err
	}
	if facts.OVS, err = lookSwitch(ctx); err != nil {
		return Status{}, err
	}
	return statusOf(facts), nil
}

func statusOf(facts Facts) Status {
	uplink, ok := bridgedUplink(facts)
	if !ok {
		return Status{}
	}
	link, _ := facts.link(BridgeName)
	return Status{Present: true, Uplink: uplink, Addresses: link.Lasting()}
}

// String says it in one line.
func (s Status) String() string {
	if !s.Present {
		return "br-ex is not there"
	}
	return fmt.Sprintf("%s is in br-ex with %s", s.Uplink, join(s.Addresses))
}

// Summary says what a run has done, for the one line of the step.
func (d *Driver) Summary(status Status) string {
	text := status.String()
	if d.gap != nil {
		text += fmt.Sprintf("; gap %.2f s", d.gap.Longest.Seconds())
	}
	for _, reach := range d.reach {
		text += "; " + reach.Name + " answers"
	}
	return text
}

// Describe says in a few lines what Make would do, for a plan.
func (m Move) Describe() []string {
	if m.AlreadyThere {
		return []string{fmt.Sprintf("br-ex is there already, with %s in it: nothing to do", m.Uplink)}
	}
	return append([]string{
		fmt.Sprintf("move %s (named by %s; NetworkManager profile %q) into the new Open vSwitch bridge br-ex; %s goes along, as do MAC, DHCP identity, DNS and routes",
			m.Uplink, m.Source, m.Origin.ID, join(m.Stable)),
		fmt.Sprintf("NetworkManager profiles %s, %s, %s, %s and %s are added; %q stays as it is, with a lower priority (%d wins)",
			bridgeProfile, nicPortProfile, bridgePortProfile, nicProfile, bridgeIPProfile, m.Origin.ID,
			m.Profiles.NIC.Int("connection", "autoconnect-priority")),
		"traffic may pause for up to a tenth of a second; a failure, or the death of this program, gives the network back",
	}, m.Notes...)
}
