// SPDX-License-Identifier: Apache-2.0

package networkmanager

import (
	"path"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
)

// Keyfile has the settings of a configuration file of NetworkManager in their order.
type Keyfile []keyfileSetting

type keyfileSetting struct{ section, key, value string }

// ParseKeyfile returns the settings in the content of a file. It ignores comments and lines without a value.
func ParseKeyfile(content string) Keyfile {
	var settings Keyfile
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

// Value returns the last value of a setting, "" if the file has none.
func (k Keyfile) Value(section, key string) string {
	for _, s := range slices.Backward(k) {
		if s.section == section && s.key == key {
			return s.value
		}
	}
	return ""
}

// Unmanages reports whether the settings exclude a link from NetworkManager, with unmanaged-devices or with a section
// [device-NAME] that matches it.
func (k Keyfile) Unmanages(link hostnet.Link) bool {
	for _, s := range k {
		isDevice := strings.HasPrefix(s.section, "device")
		switch {
		case s.section == "keyfile" && s.key == "unmanaged-devices" && matchesDevice(s.value, link):
			return true
		case isDevice && s.key == "managed" && slices.Contains([]string{"0", "false", "no", "off"}, strings.ToLower(s.value)):
			if devices := k.Value(s.section, "match-device"); devices == "" || matchesDevice(devices, link) {
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
		found := spec == "*" || spec == link.Name || link.HasMAC(spec)
		if hasKind {
			switch kind {
			case "interface-name":
				exact, isExact := strings.CutPrefix(value, "=")
				isLike, err := path.Match(strings.TrimPrefix(value, "~"), link.Name)
				found = (isExact && exact == link.Name) || (err == nil && isLike)
			case "mac":
				found = link.HasMAC(value)
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
