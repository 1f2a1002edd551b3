// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/packetfilter"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/hostrules"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Findings returns the warnings of the migration as findings.
func (m Migration) Findings() []report.Finding {
	return lists.Map(m.Warnings, func(w hostrules.Warning) report.Finding {
		return report.Finding{
			Check: "uplink-rules", Severity: report.SeverityWarning, Message: w.Message, Remedy: w.Remedy,
		}
	})
}

// GatherHostRules adds the HostRules of the uplink that a migration would attach to br-ex, if there is one.
func (f *Facts) GatherHostRules(ctx context.Context, options Options) {
	choice, err := chooseUplink(*f, options)
	uplink := f.uplink(choice.name)
	if _, attached := BridgedUplink(*f); attached || err != nil || uplink.Link.Name == "" {
		return // Plan reports it
	}
	f.HostRules = hostrules.Read(ctx, uplink)
}

// uplink returns an interface with its active profile. What is unknown is empty.
func (f *Facts) uplink(name string) hostrules.Uplink {
	link, _ := f.Link(name)
	device, _ := f.Device(name)
	profile, _ := f.Profile(device.Active.UUID)
	return hostrules.Uplink{Link: link, Profile: profile}
}

// CheckAccess refuses a migration after which the packet filter would accept no new SSH connections. It needs no Open
// vSwitch, and reports no other reason to refuse the migration.
func CheckAccess(facts Facts, options Options) error {
	if facts.HostRules == nil {
		return nil
	}
	_, err := keptAccess(facts, facts.uplink(facts.HostRules.Uplink), options)
	return err
}

// keptAccess returns the connections to sshd that the packet filter must accept on br-ex. It refuses an uplink on which
// alone it accepts them, unless the options confirm that.
func keptAccess(facts Facts, uplink hostrules.Uplink, options Options) ([]packetfilter.Connection, error) {
	if options.IgnorePacketFilter {
		return nil, nil
	}
	return facts.HostRules.Access(uplink)
}
