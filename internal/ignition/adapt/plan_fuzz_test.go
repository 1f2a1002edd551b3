// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Any payload that can be parsed can be planned: no unit file is outside the unit directories,
// and every change has a target.
func FuzzLoadPayload(f *testing.F) {
	f.Add([]byte(`{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/etc/sysctl.d/a.conf","mode":420,"contents":{"source":"data:,a%3D1"}}],"links":[{"path":"/a","target":"/b"}]}}`))
	f.Add([]byte(`{"ignition":{"version":"3.2.0"},"systemd":{"units":[{"name":"a@b.service","enabled":true,"contents":"[Unit]\nRequires=c.service\n[Install]\nAlso=d"},{"name":"kubelet.service","dropins":[{"name":"a.conf","contents":""}]}]}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := ignition.LoadPayload(raw)
		if err != nil {
			if report.CodeOf(err) != report.Usage || report.RemedyOf(err) == "" {
				t.Errorf("error without code or remedy: %v", err)
			}
			return
		}
		plan, err := ToHost(p, plainHost())
		if err != nil {
			return
		}
		for _, change := range plan.Changes() {
			if change.Target == "" || change.Reason == "" || strings.Contains(change.Target, "/../") {
				t.Errorf("change %+v", change)
			}
		}
	})
}
