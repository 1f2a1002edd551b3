// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/adapt"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

func TestDeclaredBridge(t *testing.T) {
	const own, cluster = "/etc/nmstate/openshift/worker-0.yml", "/etc/nmstate/openshift/cluster.yml"
	for name, test := range map[string]struct {
		files []string
		want  string
	}{
		"none":                    {nil, ""},
		"of the cluster":          {[]string{cluster}, cluster},
		"of the host":             {[]string{cluster, own}, own},
		"of another host":         {[]string{"/etc/nmstate/openshift/worker-1.yml"}, ""},
		"what was applied":        {[]string{"/etc/nmstate/openshift/applied"}, ""},
		"another file of nmstate": {[]string{"/etc/nmstate/site.yml"}, ""},
	} {
		p := &Plan{Plan: &adapt.Plan{}}
		for _, file := range test.files {
			p.Files = append(p.Files, ledger.FileChange(file, "of the payload", file))
		}
		got := ovs.Declared{}
		if declared := declaredBridge("worker-0.example.com", p.plannedFile); declared != nil {
			got = *declared
		}
		if got.File != test.want || got.Content != test.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// The agent creates no second bridge, neither for the payload nor for the host.
func TestSecondBridge(t *testing.T) {
	bridge := []openvswitch.Bridge{{Name: "br-ex1"}}
	for name, test := range map[string]struct {
		ofPayload, ofHost bool
		bridges           []openvswitch.Bridge
		want              string
	}{
		"none":                      {},
		"of the payload":            {ofPayload: true, want: `with the interface "eth1"`},
		"of the host":               {ofHost: true, want: `with the interface "eth2"`},
		"of both":                   {ofPayload: true, ofHost: true, want: `with the interface "eth1"`},
		"of an administrator":       {ofPayload: true, ofHost: true, bridges: bridge},
		"another bridge, as br-int": {ofHost: true, bridges: []openvswitch.Bridge{{Name: "br-int"}}, want: "br-ex1"},
	} {
		root, p := t.TempDir(), &Plan{Plan: &adapt.Plan{}}
		if test.ofPayload {
			p.Files = append(p.Files, ledger.FileChange(ovs.SecondBridgeFile, "of the payload", "eth1\n"))
		}
		if test.ofHost {
			file := filepath.Join(root, ovs.SecondBridgeFile)
			flowtest.NoError(t, os.MkdirAll(filepath.Dir(file), 0o750))
			flowtest.NoError(t, os.WriteFile(file, []byte("eth2\n"), 0o600))
		}
		tree, err := hostfs.OpenTree(root)
		flowtest.NoError(t, err)
		facts := Facts{Files: tree, Network: &ovs.Facts{OVS: ovs.OpenVSwitch{Bridges: test.bridges}}}
		err = builder{facts: facts}.checkSecondBridge(p)
		flowtest.NoError(t, tree.Close())
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case test.want != "" && (report.CodeOf(err) != report.Refused || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: %v, want a refusal with %s", name, err, test.want)
		}
	}
}
