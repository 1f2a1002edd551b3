// SPDX-License-Identifier: Apache-2.0

package uplink

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/test/vm/lab"
)

func TestKindsAreComplete(t *testing.T) {
	seen := map[string]bool{}
	vlans := map[int]bool{}
	for _, s := range lab.Segments() {
		vlans[s.VLAN] = true
	}
	for _, k := range Kinds() {
		if seen[k.Name] || k.Name == "" {
			t.Errorf("there are two kinds %q", k.Name)
		}
		seen[k.Name] = true
		if k.Cables < 1 || k.Cables > lab.PortCount {
			t.Errorf("%s has %d cables", k.Name, k.Cables)
		}
		for vlan := range k.Lab.Services {
			if !vlans[vlan] {
				t.Errorf("%s is served on VLAN %d, which does not exist", k.Name, vlan)
			}
		}
		for _, script := range []string{k.Script, "if " + k.Ready + "; then :; fi", stateScript, fullStateScript} {
			if out, err := exec.CommandContext(t.Context(), "bash", "-n", "-c", script).CombinedOutput(); err != nil {
				t.Errorf("%s: %s\n%s", k.Name, out, script)
			}
		}
	}
}

func TestFind(t *testing.T) {
	for names, want := range map[string]string{
		"vlan":             "vlan",
		"dhcp4,bond-lacp":  "dhcp4 bond-lacp",
		"bond-lacp  dhcp4": "bond-lacp dhcp4",
		"dhcp4,nothing":    "",
	} {
		found, err := Find(names)
		var got []string
		for _, k := range found {
			got = append(got, k.Name)
		}
		if strings.Join(got, " ") != want || (err == nil) == (want == "") {
			t.Errorf("%q: got %v, %v", names, got, err)
		}
	}
	usual, err := Find("usual")
	if err != nil || len(usual) != len(Kinds())-len(variants()) {
		t.Errorf("the usual ones: %d of %d kinds, %v", len(usual), len(Kinds()), err)
	}
	if all, err := Find(""); err != nil || len(all) != len(Kinds()) {
		t.Errorf("no name: %d kinds, %v", len(all), err)
	}
}
