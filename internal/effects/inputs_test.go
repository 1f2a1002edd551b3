// SPDX-License-Identifier: Apache-2.0

package effects

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// A repeated join must restart a service of which it has written an input again, such as the CAs that
// CRI-O reads only when it starts. The file is added, changed and removed.
func TestChangedInputRequiresRestart(t *testing.T) {
	for _, test := range []struct {
		file, unit string
		want       systemd.Action
	}{
		{"/etc/pki/ca-trust/source/anchors/user-ca-bundle.crt", systemd.CRIOUnit, systemd.RestartNeeded},
		{"/etc/crio/crio.conf.d/99-example.conf", systemd.CRIOUnit, systemd.RestartNeeded},
		{"/etc/cni/net.d/10-example.conf", systemd.CRIOUnit, systemd.NoAction},
		{"/etc/containers/registries.conf", systemd.CRIOUnit, systemd.NoAction}, // only a reload
		{"/etc/kubernetes/kubelet.conf", systemd.KubeletUnit, systemd.RestartNeeded},
		{"/etc/kubernetes/cloud.conf", systemd.KubeletUnit, systemd.RestartNeeded},
		{"/etc/node-sizing-enabled.env", systemd.KubeletUnit, systemd.RestartNeeded},
		{"/etc/systemd/system/kubelet.service.d/10-example.conf", systemd.KubeletUnit, systemd.RestartNeeded},
		{"/etc/kubernetes/kubelet-ca.crt", systemd.KubeletUnit, systemd.NoAction},
	} {
		root := t.TempDir()
		path := filepath.Join(root, test.file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		tree, err := hostfs.OpenTree(root)
		if err != nil {
			t.Fatal(err)
		}
		defer tree.Close()
		required := func(since time.Time) (systemd.Action, time.Time) {
			newest, err := tree.NewestChange(Inputs(Restart, test.unit)...)
			if err != nil {
				t.Fatal(err)
			}
			return systemd.UnitState{Active: "active", Since: since}.Required(newest), newest
		}
		_, started := required(time.Time{})
		started = started.Add(time.Nanosecond)
		if action, _ := required(started); action != systemd.NoAction {
			t.Errorf("%s unchanged: %s", test.file, action)
		}
		for _, change := range []func(string) error{
			func(name string) error { return os.WriteFile(name, []byte("added"), 0o600) },
			func(name string) error { return os.WriteFile(name, []byte("changed"), 0o600) },
		} {
			untilNextFileTime(t)
			if err := change(path); err != nil {
				t.Fatal(err)
			}
			action, newest := required(started)
			if action != test.want {
				t.Errorf("%s changed at %s after the start at %s: %s, want %s", test.file, newest, started, action, test.want)
			}
			if test.want == systemd.RestartNeeded {
				started = newest
			}
		}
	}
}

// A unit that does not run is started, whatever its inputs are.
func TestInactiveUnitRequiresStart(t *testing.T) {
	for _, state := range []string{"inactive", "failed", "activating"} {
		if action := (systemd.UnitState{Active: state}).Required(time.Now()); action != systemd.StartNeeded {
			t.Errorf("%s: %s", state, action)
		}
	}
}

// untilNextFileTime blocks until a file that is written gets another time, because file times have a resolution.
func untilNextFileTime(t *testing.T) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "probe")
	write := func() time.Time {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.ModTime()
	}
	first := write()
	waittest.Until(t, "waiting for another file time", func() (any, bool) {
		now := write()
		return now, now.After(first)
	})
}
