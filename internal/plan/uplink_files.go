// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"path"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// checkUplinkFiles returns findings about planned files with which NetworkManager would leave the uplink or br-ex
// unmanaged from its next start on, or could activate another profile on the uplink.
func checkUplinkFiles(p *Plan, network *ovs.Facts) []report.Finding {
	if network == nil || p.Migration == nil {
		return nil
	}
	uplink, _ := network.Link(p.Migration.Uplink)
	bridge := uplink // br-ex has the MAC of the uplink
	bridge.Name, bridge.Kind = ovs.BridgeName, "ovs-interface"
	var findings []report.Finding
	for _, change := range p.Files {
		if change.Kind != ledger.File || !change.Desired.Present {
			continue
		}
		switch path.Dir(change.Target) {
		case "/etc/NetworkManager", "/etc/NetworkManager/conf.d":
			findings = append(findings, checkManagement(change, uplink, bridge)...)
		case "/etc/NetworkManager/system-connections":
			findings = append(findings, checkProfile(change, uplink)...)
		}
	}
	return findings
}

// checkManagement refuses a configuration of NetworkManager that excludes links.
func checkManagement(file ledger.Change, links ...hostnet.Link) []report.Finding {
	var findings []report.Finding
	settings := networkmanager.ParseKeyfile(string(file.Desired.Content))
	for _, link := range links {
		if settings.Unmanages(link) {
			findings = append(findings, report.RefusingFinding(report.Fail(report.Refused, exclude(file),
				"with %s of the payload, NetworkManager would not manage %s from its next start on, and the host would have no "+
					"network", file.Target, link.Name)))
		}
	}
	return findings
}

// checkProfile warns of a profile that NetworkManager can activate on the uplink.
func checkProfile(file ledger.Change, uplink hostnet.Link) []report.Finding {
	profile := networkmanager.ParseKeyfile(string(file.Desired.Content))
	isOfUplink := profile.Value("connection", "interface-name") == uplink.Name ||
		uplink.HasMAC(profile.Value("ethernet", "mac-address"))
	if !isOfUplink || profile.Value("connection", "autoconnect") == "false" {
		return nil
	}
	return []report.Finding{{
		Severity: report.SeverityWarning, Remedy: exclude(file),
		Message: fmt.Sprintf("%s of the payload is a profile of the uplink %s: NetworkManager can activate it at the next "+
			"boot in place of br-ex", file.Target, uplink.Name),
	}}
}

// exclude returns the command that joins without a file of the payload.
func exclude(file ledger.Change) report.Remedy {
	return report.Remedyf("hcp-node-agent join --payload-drop=%s", report.ShellWord(file.Target))
}
