// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"regexp"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/bootloader"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// uplinkSetting is a setting of the payload with which the host could lose its network.
type uplinkSetting struct {
	name    string
	remedy  report.Remedy
	applied bool // by the join
}

// finding returns a refusal of a join that applies the setting, else a warning.
func (s uplinkSetting) finding(isFatal bool, format string, args ...any) report.Finding {
	if s.applied && isFatal {
		return report.Refusalf(s.remedy, format, args...)
	}
	return report.Findingf(report.SeverityWarning, s.remedy, format, args...)
}

// argument returns the kernel argument of the payload that is one of the words, unless the host was booted with all of
// them.
func (p *Plan) argument(words ...string) []uplinkSetting {
	if !p.NeedsReboot {
		return nil
	}
	for _, word := range bootloader.Split(strings.Join(p.PayloadArguments.Add, " ")) {
		if slices.Contains(words, word) {
			return []uplinkSetting{{
				name: "the kernel argument " + word, applied: len(p.KernelArguments) > 0,
				remedy: "hcp-node-agent join --apply-host-settings=report # sets no kernel arguments",
			}}
		}
	}
	return nil
}

// checkUplinkSettings returns findings about settings of the payload that disable IPv6 on the uplink, or with which
// the network interfaces get other names at the next boot.
func checkUplinkSettings(p *Plan, network *ovs.Facts) []report.Finding {
	if network == nil || p.Migration == nil {
		return nil
	}
	return slices.Concat(checkIPv6(p, network), checkInterfaceNames(p, network))
}

// checkIPv6 returns a finding for each setting that removes the IPv6 addresses of the uplink, and refuses it if the
// uplink has no others.
func checkIPv6(p *Plan, network *ovs.Facts) []report.Finding {
	lost, hasIPv4 := "", false
	settings := p.argument("ipv6.disable=1", "ipv6.disable_ipv6=1")
	for _, name := range []string{p.Migration.Uplink, ovs.BridgeName} {
		link, _ := network.Link(name)
		for _, address := range link.Addresses {
			if hasIPv4 = hasIPv4 || address.Addr().Is4(); address.Addr().Is6() {
				lost = address.String()
			}
		}
		for _, change := range p.Sysctls {
			isSet := change.Target == "net.ipv6.conf."+strings.ReplaceAll(name, ".", "/")+".disable_ipv6" ||
				(change.Target == "net.ipv6.conf.all.disable_ipv6" && name != ovs.BridgeName)
			if isSet && change.Desired.Value != "0" {
				settings = append(settings, uplinkSetting{
					name: change.Target + " in " + change.Reason, remedy: exclude(ledger.Change{Target: change.Reason}), applied: true,
				})
			}
		}
	}
	if lost == "" {
		return nil
	}
	var findings []report.Finding
	for _, setting := range settings {
		findings = append(findings, setting.finding(!hasIPv4,
			"%s of the payload disables IPv6: the uplink %s would lose the address %s", setting.name, p.Migration.Uplink, lost))
	}
	return findings
}

// kernelName matches the names that the kernel gives to network interfaces.
var kernelName = regexp.MustCompile(`^eth\d+$`)

// checkInterfaceNames refuses settings that disable predictable names of network interfaces, which
// systemd.net-naming-scheme(7) describes, on a host that has such names: its profiles, and those of br-ex, contain
// them.
func checkInterfaceNames(p *Plan, network *ovs.Facts) []report.Finding {
	settings := p.argument("net.ifnames=0")
	for _, change := range p.Files {
		isMask := change.Desired.Link == "/dev/null" || (change.Kind == ledger.File && len(change.Desired.Content) == 0)
		isNaming := change.Target == "/etc/systemd/network/99-default.link" ||
			change.Target == "/etc/udev/rules.d/80-net-setup-link.rules"
		if change.Desired.Present && isMask && isNaming {
			settings = append(settings, uplinkSetting{name: change.Target, remedy: exclude(change), applied: true})
		}
	}
	at := slices.IndexFunc(network.Links, func(link hostnet.Link) bool {
		return link.Kind == "device" && link.PermanentMAC != "" && !kernelName.MatchString(link.Name)
	})
	if at < 0 {
		return nil
	}
	var findings []report.Finding
	for _, setting := range settings {
		findings = append(findings, setting.finding(true, "with %s of the payload, network interfaces such as %s get other "+
			"names at the next boot (eth0), and the host would have no network", setting.name, network.Links[at].Name))
	}
	return findings
}
