// SPDX-License-Identifier: Apache-2.0

package leave

import (
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
)

func TestLeftoversInUseAreRefused(t *testing.T) {
	loaded := func(active string) systemd.UnitState { return systemd.UnitState{Load: "loaded", Active: active} }
	for name, test := range map[string]struct {
		use    nodeUse
		want   string
		remedy report.Remedy
	}{
		"no kubelet":      {use: nodeUse{kubelet: systemd.UnitState{Load: "not-found", Active: "inactive"}}},
		"stopped kubelet": {use: nodeUse{kubelet: loaded("inactive")}},
		"failed kubelet":  {use: nodeUse{kubelet: loaded("failed")}},
		"running kubelet": {nodeUse{kubelet: loaded("active")}, "kubelet is active", "systemctl disable --now kubelet"},
		"crashing kubelet": {
			nodeUse{kubelet: loaded("activating")}, "kubelet is activating", "systemctl disable --now kubelet",
		},
		"running container": {nodeUse{containers: 3}, "running containers of CRI-O: 3", ""},
		"pods without CRI-O": {
			nodeUse{kubelet: loaded("inactive"), runsPods: true}, "processes of pods run", "systemctl stop kubepods.slice",
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := test.use.check()
			if test.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			reporttest.CheckFailure(t, err, report.Refused, test.want)
			if remedy := report.RemedyOf(err); !strings.HasSuffix(string(remedy), string(test.remedy)) {
				t.Errorf("remedy %q", remedy)
			}
		})
	}
}
