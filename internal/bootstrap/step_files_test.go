// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger/resource"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
)

// Since OpenShift 4.21 kubelet.service and its script for reserved resources create
// files in /etc/openshift. An undo removes them and keeps an administrator's files.
func TestUndoRemovesKubeletsDropInDirectory(t *testing.T) {
	for name, own := range map[string]string{
		"no foreign file":         "",
		"an administrator's file": "etc/openshift/kubelet.conf.d/50-site.conf",
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			write := func(name string) {
				t.Helper()
				name = filepath.Join(root, name)
				if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil { //nolint:gosec // as on a host
					t.Fatal(err)
				}
				if err := os.WriteFile(name, []byte("x\n"), 0o644); err != nil { //nolint:gosec // as on a host
					t.Fatal(err)
				}
			}
			tree, err := hostfs.OpenTree(root)
			if err != nil {
				t.Fatal(err)
			}
			defer tree.Close()
			contents := &resource.DirSnapshot{Tree: tree}
			l, err := ledger.Open(t.TempDir(), ledger.Drivers{Snapshots: map[ledger.Kind]ledger.SnapshotDriver{
				ledger.Contents: contents, ledger.SharedContents: resource.SharedDirSnapshot{DirSnapshot: contents},
			}})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			var brackets []ledger.Change
			for _, dir := range machine.SharedDirs() {
				brackets = append(brackets, ledger.Change{
					Kind:    ledger.SharedContents,
					Target:  dir,
					Desired: ledger.State{Present: true},
				})
			}
			for _, dir := range machine.ClusterDirs() {
				brackets = append(brackets, ledger.Change{Kind: ledger.Contents, Target: dir, Desired: ledger.State{Present: true}})
			}
			if _, err := l.TrackExternal(t.Context(), "files", brackets...); err != nil {
				t.Fatal(err)
			}
			write("etc/openshift/kubelet.conf.d/20-auto-sizing.conf")
			if own != "" {
				write(own)
			}
			if _, err := l.Undo(t.Context()); err != nil {
				t.Fatal(err)
			}
			var left []string
			_ = filepath.WalkDir(root, func(p string, entry fs.DirEntry, err error) error {
				if err == nil && !entry.IsDir() || filepath.Base(p) == "openshift" {
					left = append(left, p)
				}
				return err
			})
			want := []string{}
			if own != "" {
				want = []string{filepath.Join(root, "etc/openshift"), filepath.Join(root, own)}
			}
			if !slices.Equal(left, want) {
				t.Errorf("left %v, want %v", left, want)
			}
		})
	}
}
