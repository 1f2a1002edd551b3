// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
)

// writeFakeCommands writes fakes of all commands that a script may run into a directory.
// They append their arguments to a file. A call whose text contains fail exits
// with an error.
func writeFakeCommands(t *testing.T, fail string) (dir, calls string) {
	t.Helper()
	dir = t.TempDir()
	calls = filepath.Join(dir, "calls")
	for _, name := range []string{"ovs-vsctl", "ovs-appctl", "ovs-dpctl", "systemctl", "nmcli"} {
		script := "#!/bin/sh\necho " + name + " \"$@\" >> " + calls + "\n"
		if name == "nmcli" || name == "ovs-appctl" {
			script += "case \"$*\" in *" + fail + "*) exit 1;; esac\n"
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), //nolint:gosec // must be executable
			0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir, calls
}

func runScript(t *testing.T, script, path string) (ok bool) {
	t.Helper()
	command := exec.Command("/bin/sh", "-c", script)
	command.Env = []string{"PATH=" + path + ":/usr/bin:/bin"}
	output, err := command.CombinedOutput()
	if err != nil {
		t.Logf("%v: %s", err, output)
	}
	return err == nil
}

func TestRollbackScript(t *testing.T) {
	origin := ovs.Backup{
		Uplink:       "eth0",
		UUID:         "origin-uuid",
		ProfileUUIDs: map[string]string{"br-ex": "u1", "ovs-if-br-ex": "u2"},
	}
	revert := []string{
		"ovs-appctl --timeout=5 --target=ovs-vswitchd version",
		"ovs-vsctl --timeout=10 --if-exists del-br br-ex",
		"nmcli --wait 20 connection delete uuid u1",
		"nmcli --wait 20 connection delete uuid u2",
		"nmcli -g GENERAL.CON-UUID device show eth0",
		"nmcli --wait 60 connection up uuid origin-uuid ifname eth0",
	}
	switchStopped := slices.Insert(slices.Clone(revert), 1,
		"systemctl start ovsdb-server.service",
		"ovs-vsctl --no-wait --timeout=10 --if-exists del-br br-ex",
		"ovs-dpctl del-if system@ovs-system eth0",
		"ovs-dpctl del-if system@ovs-system br-ex",
		"systemctl start openvswitch.service ovs-vswitchd.service")
	tests := map[string]struct {
		unfinished bool
		fail       string
		calls      []string
		kept       bool // the pending file remains, for another attempt
	}{
		"finished":   {},
		"unfinished": {unfinished: true, fail: "delete", calls: revert}, // NetworkManager has deleted them itself
		"profile is gone": {
			unfinished: true,
			fail:       "up",
			calls:      append(append([]string{}, revert...), "nmcli --wait 60 device connect eth0"),
		},
		"nothing comes up": {
			unfinished: true,
			fail:       "wait",
			calls:      append(append([]string{}, revert...), "nmcli --wait 60 device connect eth0"),
			kept:       true,
		},
		"switch stopped": {unfinished: true, fail: "version", calls: switchStopped},
		"daemons are dead": {
			unfinished: true,
			fail:       "",
			calls:      append(append([]string{}, switchStopped...), "nmcli --wait 60 device connect eth0"),
			kept:       true,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path, calls := writeFakeCommands(t, test.fail)
			journal := filepath.Join(path, "journal")
			if test.unfinished {
				if err := os.WriteFile(journal, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			script := strings.ReplaceAll(rollbackScript(journal, origin), "/etc/systemd/system", path)
			if strings.ContainsAny(script, "$;") {
				t.Error("systemd would expand a dollar sign, and break a semicolon at the next daemon-reload")
			}
			if ok := runScript(t, script, path); ok == test.kept {
				t.Errorf("ended well: %t", ok)
			}
			content, _ := os.ReadFile(calls)
			got := strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
			if len(content) == 0 {
				got = nil
			}
			if diff := cmp.Diff(test.calls, got); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if _, err := os.Stat(journal); (err == nil) != test.kept {
				t.Errorf("the journal: %v, want it kept: %t", err, test.kept)
			}
		})
	}
}

// The boot unit removes the bridge from the database and the agent's saved
// profiles from the disk, and nothing else.
func TestBootRollbackUnit(t *testing.T) {
	path, calls := writeFakeCommands(t, "none")
	profiles := filepath.Join(path, "system-connections")
	if err := os.Mkdir(profiles, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"br-ex.nmconnection":        "uuid=u1\n",
		"with space.nmconnection":   "master=u1\nuuid=u2\n",
		"original.nmconnection":     "uuid=other\n",
		"ovs-if-br-ex.nmconnection": "", "empty foreign.nmconnection": "",
	} {
		if err := os.WriteFile(filepath.Join(profiles, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	unit := bootRollbackUnit("/state/network-migration.json",
		ovs.Backup{ProfileUUIDs: map[string]string{"br-ex": "u1", "ovs-if-br-ex": "u2"}})
	for line := range strings.Lines(unit) {
		command, found := strings.CutPrefix(strings.TrimSpace(line), "ExecStart=")
		if !found || strings.HasPrefix(command, "/bin/rm") {
			continue // removes the pending file and the unit itself
		}
		command, mayFail := strings.CutPrefix(command, "-")
		if !runScript(t, strings.ReplaceAll(command, "/etc/NetworkManager/system-connections", profiles), path) && !mayFail {
			t.Errorf("%s failed", command)
		}
	}
	content, _ := os.ReadFile(calls)
	if diff := cmp.Diff("ovs-vsctl --no-wait --timeout=30 --if-exists del-br br-ex\n", string(content)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	left, err := filepath.Glob(profiles + "/*")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		filepath.Join(profiles, "empty foreign.nmconnection"),
		filepath.Join(profiles, "original.nmconnection"),
	}
	if diff := cmp.Diff(want, left); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	for _, want := range []string{
		"ConditionPathExists=/state/network-migration.json\n",
		"Before=ovs-vswitchd.service NetworkManager.service\n",
		"Wants=ovsdb-server.service\nAfter=ovsdb-server.service\n",
	} {
		if !strings.Contains(unit, want) {
			t.Errorf("the unit lacks %q", want)
		}
	}
}

func TestPendingFile(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"etc/systemd/system/multi-user.target.wants", "var/lib/agent"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := hostfs.OpenTree(root)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	j := pendingFile{tree: tree, dir: "/var/lib/agent"}
	if _, unfinished, err := j.read(); unfinished || err != nil {
		t.Fatalf("before anything: unfinished %t, %v", unfinished, err)
	}
	move, err := ovs.Plan(facts(t, "dhcp"), ovs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // again over the files of a killed run
		if err := j.write(move.Backup); err != nil {
			t.Fatal(err)
		}
	}
	got, unfinished, err := j.read()
	if err != nil || !unfinished {
		t.Fatalf("unfinished %t, %v", unfinished, err)
	}
	if !reflect.DeepEqual(got, move.Backup) {
		t.Errorf("read back\n%+v\nwant\n%+v", got, move.Backup)
	}
	if target, err := os.Readlink(filepath.Join(root, bootUnitLink)); err != nil || target != bootUnitPath {
		t.Errorf("the boot unit is wanted by a link to %q, %v", target, err)
	}
	for range 2 {
		if err := j.remove(); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{j.path(), bootUnitPath, bootUnitLink} {
		if _, err := os.Lstat(filepath.Join(root, path)); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", path, err)
		}
	}
}
