// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
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
	settings := parseKeyfile(string(file.Desired.Content))
	for _, link := range links {
		if settings.unmanages(link) {
			findings = append(findings, report.RefusingFinding(report.Fail(report.Refused, exclude(file),
				"with %s of the payload, NetworkManager would not manage %s from its next start on, and the host would have no "+
					"network", file.Target, link.Name)))
		}
	}
	return findings
}

// checkProfile warns of a profile that NetworkManager can activate on the uplink.
func checkProfile(file ledger.Change, uplink hostnet.Link) []report.Finding {
	profile := parseKeyfile(string(file.Desired.Content))
	isOfUplink := profile.value("connection", "interface-name") == uplink.Name ||
		isMAC(profile.value("ethernet", "mac-address"), uplink)
	if !isOfUplink || profile.value("connection", "autoconnect") == "false" {
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

// keyfile has the settings of a configuration file of NetworkManager in their order.
type keyfile []keyfileSetting

type keyfileSetting struct{ section, key, value string }

func parseKeyfile(content string) keyfile {
	var settings keyfile
	section := ""
	for line := range strings.Lines(content) {
		line = strings.TrimSpace(line)
		key, value, isSetting := strings.Cut(line, "=")
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "["):
			section = strings.Trim(line, "[]")
		case isSetting:
			key = strings.TrimRight(strings.TrimSpace(key), "+")
			settings = append(settings, keyfileSetting{section, key, strings.TrimSpace(value)})
		}
	}
	return settings
}

func (k keyfile) value(section, key string) string {
	for _, s := range slices.Backward(k) {
		if s.section == section && s.key == key {
			return s.value
		}
	}
	return ""
}

// unmanages reports whether the settings exclude a link from NetworkManager, with unmanaged-devices or with a section
// [device-NAME] that matches it.
func (k keyfile) unmanages(link hostnet.Link) bool {
	for _, s := range k {
		isDevice := strings.HasPrefix(s.section, "device")
		switch {
		case s.section == "keyfile" && s.key == "unmanaged-devices" && matchesDevice(s.value, link):
			return true
		case isDevice && s.key == "managed" && slices.Contains([]string{"0", "false", "no", "off"}, strings.ToLower(s.value)):
			if devices := k.value(s.section, "match-device"); devices == "" || matchesDevice(devices, link) {
				return true
			}
		}
	}
	return false
}

// matchesDevice reports whether a list of devices, in the format of NetworkManager.conf(5), contains a link. The
// driver of a link is unknown here: such an entry does not match.
func matchesDevice(list string, link hostnet.Link) bool {
	matches, hasOnlyExceptions := false, true
	for _, spec := range strings.FieldsFunc(list, func(r rune) bool { return r == ';' || r == ',' || r == ' ' }) {
		spec, isException := strings.CutPrefix(spec, "except:")
		kind, value, hasKind := strings.Cut(spec, ":")
		found := spec == "*" || spec == link.Name || isMAC(spec, link)
		if hasKind {
			switch kind {
			case "interface-name":
				exact, isExact := strings.CutPrefix(value, "=")
				isLike, err := path.Match(strings.TrimPrefix(value, "~"), link.Name)
				found = (isExact && exact == link.Name) || (err == nil && isLike)
			case "mac":
				found = isMAC(value, link)
			case "type":
				found = value == link.Kind || (value == "ethernet" && link.Kind == "device")
			}
		}
		if isException {
			if found {
				return false
			}
			continue
		}
		hasOnlyExceptions = false
		matches = matches || found
	}
	return matches || (hasOnlyExceptions && list != "")
}

func isMAC(value string, link hostnet.Link) bool {
	return value != "" && (strings.EqualFold(value, link.MAC) || strings.EqualFold(value, link.PermanentMAC))
}
