// SPDX-License-Identifier: Apache-2.0

package kubelet

import "regexp"

// UmaskDropIn is the drop-in for the umask. systemd applies drop-ins for the unit and for all services in the order of
// their names (systemd.unit(5)), so it sorts after both.
const UmaskDropIn = "zz-hcp-node-agent-umask.conf"

var umaskLine = regexp.MustCompile(`(?m)^\s*UMask\s*=\s*(\S*)`)

// RenderUmaskDropIn returns the content of UmaskDropIn, or "" if no drop-in for all services sets another umask than
// that of systemd. kubelet creates files of pods with its umask, such as /etc/hosts, which users in containers must be
// able to read (https://github.com/kubernetes/kubernetes/issues/96342).
func (u UnitFiles) RenderUmaskDropIn() string {
	for _, content := range u.ServiceDropIns {
		for _, match := range umaskLine.FindAllStringSubmatch(content, -1) {
			if match[1] != "0022" && match[1] != "022" {
				return "# Written by hcp-node-agent: users in containers must be able to read files that kubelet creates.\n" +
					"[Service]\nUMask=0022\n"
			}
		}
	}
	return ""
}
