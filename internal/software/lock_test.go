// SPDX-License-Identifier: Apache-2.0

package software

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

const lockConfig = "[main]\nenabled = 1\nlocklist = /etc/dnf/plugins/versionlock.list\n"

// writeLocks writes the configuration and the list of versionlock below root.
func writeLocks(t *testing.T, root, config, list string) {
	t.Helper()
	dir := filepath.Join(root, "etc/dnf/plugins")
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // as on a host
		t.Fatal(err)
	}
	for name, content := range map[string]string{"versionlock.conf": config, "versionlock.list": list} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// installedNode returns installed packages of which three are locked.
func installedNode() []dnf.Package {
	return []dnf.Package{
		{Name: "openvswitch3.5", Version: "3.5.0", Release: "1.el9fdp", Arch: "x86_64"},
		{Name: "openvswitch-selinux-extra-policy", Version: "1.0", Release: "1.el9fdp", Arch: "noarch"},
		{Name: "conmon", Version: "2.1", Release: "1.el9", Arch: "x86_64"},
		{Name: "openshift-kubelet", Version: "4.18.7", Release: "1.el9", Arch: "x86_64"},
		{Name: "cri-o", Version: "1.31.4", Release: "2.rhaos4.18.el9", Arch: "x86_64"},
	}
}

func TestLocksAreSetAndRestored(t *testing.T) {
	const locks = "cri-o-1.31.4-2.rhaos4.18.el9.*\nopenshift-kubelet-4.18.7-1.el9.*\nopenvswitch3.5-3.5.0-1.el9fdp.*\n"
	for name, test := range map[string]struct{ before, locked string }{
		"empty": {"", locks},
		"others": {
			"# mine\nbash-0:5.1-1.el9.*\n!cri-o-1.32.*\ncri-o-extra-1.0-1.*\n",
			"# mine\nbash-0:5.1-1.el9.*\n!cri-o-1.32.*\ncri-o-extra-1.0-1.*\n" + locks,
		},
		"of the same package": {
			"bash-0:5.1-1.el9.*\ncri-o-0:1.31.3-1.el9.*\n",
			"bash-0:5.1-1.el9.*\n" + locks,
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			writeLocks(t, root, lockConfig, test.before)
			tree, err := hostfs.OpenTree(root)
			if err != nil {
				t.Fatal(err)
			}
			defer tree.Close()
			l, err := ledger.Open(t.TempDir(),
				ledger.Drivers{Resources: map[ledger.Kind]ledger.Driver{LockKind: &Locks{Tree: tree, Host: dnf.Host{Root: root}}}})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			check := func(want string) {
				t.Helper()
				content, err := os.ReadFile(filepath.Join(root, "etc/dnf/plugins/versionlock.list"))
				if diff := cmp.Diff(want, string(content)); diff != "" || err != nil {
					t.Errorf("%v (-want +got):\n%s", err, diff)
				}
			}
			changes := lockChanges(readTable(t), installedNode(), lockEntry)
			for range 2 { // the second changes nothing
				if _, err := l.Apply(t.Context(), "system", changes); err != nil {
					t.Fatal(err)
				}
				check(test.locked)
			}
			drift, err := l.Drift(t.Context())
			if err != nil || len(drift) > 0 {
				t.Errorf("drift %v, %v", drift, err)
			}
			if _, err := l.Undo(t.Context()); err != nil {
				t.Fatal(err)
			}
			check(test.before)
		})
	}
}

func TestVersionLockFile(t *testing.T) {
	for name, test := range map[string]struct{ config, want string }{
		"default":  {lockConfig, "/etc/dnf/plugins/versionlock.list"},
		"disabled": {"[main]\nenabled = 0\nlocklist = /etc/dnf/plugins/versionlock.list\n", ""},
		"moved":    {"[main]\nlocklist=/etc/locks\n", "/etc/locks"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			writeLocks(t, root, test.config, "")
			if got, err := (dnf.Host{Root: root}).VersionLockFile(); got != test.want || err != nil {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	if got, err := (dnf.Host{Root: t.TempDir()}).VersionLockFile(); got != "" || err != nil {
		t.Errorf("without the plugin: %q, %v", got, err)
	}
}
