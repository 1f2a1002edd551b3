// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"regexp"
	"strings"
)

var (
	section = regexp.MustCompile(`^[ \t]*\[([^\[\]]+)\][ \t]*$`)
	setting = regexp.MustCompile(`^([ \t]*[^\s=\[#;][^=\n]*=[ \t]*)(.+)$`)
)

// replaceSections replaces every value below a heading such as [vpn-secrets], where
// NetworkManager keyfiles store secrets under any key.
func replaceSections(text string, replace func(value string) string) string {
	if !strings.Contains(text, "-secrets]") {
		return text
	}
	lines := strings.Split(text, "\n")
	secret := false
	for i, line := range lines {
		bare := strings.TrimSuffix(line, "\r")
		if heading := section.FindStringSubmatch(bare); heading != nil {
			secret = strings.HasSuffix(heading[1], "-secrets")
		} else if part := setting.FindStringSubmatch(bare); secret && part != nil {
			lines[i] = part[1] + replace(part[2])
		}
	}
	return strings.Join(lines, "\n")
}
