// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
)

// A bond keeps its profile and loses its addresses, and NetworkManager's own
// rollback detaches its ports: the timer must restore both.
func TestRollbackScriptOfBond(t *testing.T) {
	origin := ovs.Backup{
		Uplink:       "bond0",
		UUID:         "ub",
		KeepsProfile: true,
		Members:      []ovs.Member{{Name: "eth0", UUID: "u0"}, {Name: "eth1", UUID: "u1"}},
		ProfileUUIDs: map[string]string{"eth0-slave-ovs-clone": "c0"},
	}
	tests := map[string]struct {
		using    map[string]string // profiles by interface
		address  bool
		up       []string
		reapply  bool
		fail     string
		unfinish bool
	}{
		"nothing was lost": {using: map[string]string{"bond0": "ub", "eth0": "u0", "eth1": "u1"}, address: true},
		"the addresses":    {using: map[string]string{"bond0": "ub", "eth0": "u0", "eth1": "u1"}, reapply: true},
		"a member": {
			using:   map[string]string{"bond0": "ub", "eth0": "u0"},
			address: true,
			up:      []string{"u1 ifname eth1"},
		},
		"all": {up: []string{"ub ifname bond0", "u0 ifname eth0", "u1 ifname eth1"}, reapply: true},
		"members are with the agent's": {
			using:   map[string]string{"bond0": "ub", "eth0": "c0", "eth1": "u1"},
			address: true,
			up:      []string{"u0 ifname eth0"},
		},
		"a member cannot": {
			using:   map[string]string{"bond0": "ub", "eth0": "u0"},
			address: true,
			up:      []string{"u1 ifname eth1"},
			fail:    "up?uuid?u1",
		},
		"nor can the addresses": {
			using:    map[string]string{"bond0": "ub", "eth0": "u0", "eth1": "u1"},
			reapply:  true,
			fail:     "reapply",
			unfinish: true,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			fail := "nothing"
			if test.fail != "" {
				fail = test.fail
			}
			path, calls := writeFakeCommands(t, fail)
			write := func(name, content string) {
				if err := os.WriteFile(filepath.Join(path, name), []byte(content), //nolint:gosec // must be executable
					0o700); err != nil {
					t.Fatal(err)
				}
			}
			fakeNmcli, err := os.ReadFile(filepath.Join(path, "nmcli"))
			if err != nil {
				t.Fatal(err)
			}
			answers := "case \"$*\" in\n"
			for nic, uuid := range test.using {
				answers += "*show\\ " + nic + ") echo " + uuid + ";;\n"
			}
			write("nmcli", string(fakeNmcli)+answers+"esac\n")
			ip := "#!/bin/sh\n"
			if test.address {
				ip += "case \"$*\" in \"-o address show dev bond0 scope global\") echo 'inet 192.0.2.7/24';; esac\n"
			}
			write("ip", ip)
			journal := filepath.Join(path, "journal")
			write("journal", "")

			script := strings.ReplaceAll(rollbackScript(journal, origin), "/etc/systemd/system", path)
			if strings.ContainsAny(script, "$;") {
				t.Error("systemd would expand a dollar sign, and break a semicolon at the next daemon-reload")
			}
			if runScript(t, script, path) == test.unfinish {
				t.Errorf("unfinished: %t, want %t", !test.unfinish, test.unfinish)
			}
			content, err := os.ReadFile(calls)
			if err != nil {
				t.Fatal(err)
			}
			var up []string
			for line := range strings.Lines(string(content)) {
				if _, profile, ok := strings.Cut(strings.TrimSpace(line), "connection up uuid "); ok {
					up = append(up, profile)
				}
			}
			if diff := cmp.Diff(test.up, up); diff != "" {
				t.Errorf("brought up (-want +got):\n%s", diff)
			}
			if got := strings.Contains(string(content), "device reapply bond0"); got != test.reapply {
				t.Errorf("reapplied: %t, want %t", got, test.reapply)
			}
			if !strings.Contains(string(content), "connection delete uuid c0") {
				t.Error("the clone of a member stays")
			}
			if _, err := os.Stat(journal); (err == nil) != test.unfinish {
				t.Errorf("the journal: %v", err)
			}
		})
	}
}
