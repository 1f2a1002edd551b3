// SPDX-License-Identifier: Apache-2.0

package bootunits

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
)

func TestReplaceNICName(t *testing.T) {
	tests := map[string]struct{ content, want string }{
		"keyfile of the NIC": {
			"[connection]\nid=ovs-if-phys0\ninterface-name=eth0\n\n[ethernet]\nmac-address=52:54:00:A1:26:B0\n",
			"[connection]\nid=ovs-if-phys0\ninterface-name=lan0\n\n[ethernet]\nmac-address=52:54:00:A1:26:B0\n",
		},
		"keyfile of the bridge": {
			"[connection]\ninterface-name=br-ex\n\n[ovs-external-ids]\ndata.bridge-uplink=eth0\n",
			"[connection]\ninterface-name=br-ex\n\n[ovs-external-ids]\ndata.bridge-uplink=lan0\n",
		},
		"ifcfg of the NIC": {
			"NAME=ovs-if-phys0\nDEVICE=eth0\nHWADDR=52:54:00:A1:26:B0\n",
			"NAME=ovs-if-phys0\nDEVICE=lan0\nHWADDR=52:54:00:A1:26:B0\n",
		},
		"ifcfg with quotes":    {"DEVICE=\"eth0\"\r\n", "DEVICE=lan0\n"},
		"of another interface": {"interface-name=eth01\nDEVICE=xeth0\n", "interface-name=eth01\nDEVICE=xeth0\n"},
		"another setting":      {"id=eth0\nmaster=eth0", "id=eth0\nmaster=eth0"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := string(replaceNICName([]byte(test.content), "eth0", "lan0")); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// The profiles are found by their UUIDs and keep their mode; foreign profiles
// remain unchanged.
func TestRenameNICInProfiles(t *testing.T) {
	const machine = "0123456789abcdef0123456789abcdef"
	keyfiles, ifcfgs, _ := strings.Cut(ovs.ProfileDirectories, " ")
	files := map[string]string{
		keyfiles + "/br-ex.nmconnection": "[connection]\nuuid=" + ovs.ProfileUUID(machine,
			ovs.BridgeProfile) + "\ninterface-name=br-ex\n[ovs-external-ids]\ndata.bridge-uplink=eth0\n",
		keyfiles + "/ovs-port-phys0.nmconnection": "[connection]\nuuid=" + ovs.ProfileUUID(machine,
			ovs.NICPortProfile) + "\ninterface-name=eth0\n",
		ifcfgs + "/ifcfg-ovs-if-phys0": "UUID=" + ovs.ProfileUUID(machine,
			ovs.NICProfile) + "\nDEVICE=eth0\nHWADDR=52:54:00:A1:26:B0\n",
		keyfiles + "/own.nmconnection": "[connection]\nuuid=6f1d1f3a-0000-4000-8000-000000000001\ninterface-name=eth0\n",
	}
	root := t.TempDir()
	for name, content := range files {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := hostfs.OpenTree(root)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	found, err := findProfileFiles(tree, machine)
	if err != nil || len(found) != len(profilesWithNICName) {
		t.Fatalf("%d files, %v", len(found), err)
	}
	if err := renameNICInProfiles(tree, found, "eth0", "lan0"); err != nil {
		t.Fatal(err)
	}
	for name, before := range files {
		want := strings.NewReplacer("interface-name=eth0", "interface-name=lan0", "uplink=eth0", "uplink=lan0", "DEVICE=eth0",
			"DEVICE=lan0").
			Replace(before)
		if strings.HasSuffix(name, "/own.nmconnection") {
			want = before
		}
		got, err := os.ReadFile(filepath.Join(root, name))
		if err != nil || string(got) != want {
			t.Errorf("%s: %q, want %q (%v)", name, got, want, err)
		}
		if info, err := os.Stat(filepath.Join(root, name)); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: mode %v, %v", name, info.Mode(), err)
		}
	}
}
