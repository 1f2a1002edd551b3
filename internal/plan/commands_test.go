// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/adapt"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
)

// Every binary that the units of a real payload run and that a minimal RHEL may
// lack must belong to a package of the table.
func TestEveryCommandOfRealPayloadsHasAPackage(t *testing.T) {
	const optional = `afterburn arping awk bc blkid chcon conntrack crictl curl dig dmidecode dnf ethtool file firewall-cmd
		free gawk getenforce hostname ip ipsec iptables iscsiadm jq lspci lsof mdadm multipath nc ncat nft nmap nmcli
		nmstatectl nslookup numactl openssl perl ping podman ps python python3 restorecon rpm rpm-ostree rsync semanage
		setsebool skopeo socat ss strace sysctl tar tc tcpdump tuned-adm vdo vmtoolsd wget xz yq`
	// Exclude packages that every host has. ipsec runs only if it is installed,
	// afterburn only on GCP.
	provided := strings.Fields("nmcli rpm chcon getenforce sysctl ss ps ipsec afterburn")
	table, err := software.ReadTable()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range table.Packages {
		if p.Program != "" {
			provided = append(provided, p.Program)
		}
	}
	files, err := filepath.Glob("../../../shared/payloads/worker-*.ign")
	if err != nil || len(files) == 0 {
		t.Skip("no real payloads are beside the project")
	}
	tree, err := hostfs.OpenTree(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	exists := func(string) bool { return true }
	users := map[string]int{"root": 0, "openvswitch": 0}
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "-aws.ign") {
			continue // must be refused
		}
		payload, err := ignition.LoadPayload(raw)
		if err != nil {
			t.Logf("%s is skipped: %v", filepath.Base(name), err)
			continue
		}
		for _, hosted := range []bool{true, false} {
			plan, err := adapt.ToHost(payload, adapt.Input{
				Facts: hostinfo.Facts{OS: hostinfo.OSRelease{ID: "rhel", Version: "9.4"}, Arch: "amd64"}, Hosted: hosted,
				Tree: tree, User: users, Group: users,
				HasUnit: exists, HasSysctl: exists, HasModule: exists, UnitFileState: func(string) string { return "" },
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range plan.Commands {
				if slices.Contains(strings.Fields(optional), c.Name) && !slices.Contains(provided, c.Name) {
					t.Errorf(
						"%s, hosted %t: no package of the table brings %s, which %s runs", filepath.Base(name), hosted, c.Name, c.RunBy,
					)
				}
			}
		}
	}
}
