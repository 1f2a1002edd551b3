// SPDX-License-Identifier: Apache-2.0

package leave

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest/machinetest"
)

func TestLeaveRemovesWhatTheNodeCreatedAndKeepsTheRest(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("a network namespace needs root")
	}
	before := map[string]string{
		"opt/cni/bin/bridge": "from a package", "opt/cni/README": "read me", "etc/cni/net.d/podman.conflist": "{}",
	}
	since := map[string]string{
		"opt/cni/bin/bridge":                           "of the cluster",
		"opt/cni/bin/own plugin":                       "of an administrator",
		"etc/cni/net.d/podman.conflist":                "changed by podman",
		"etc/cni/net.d/other.conflist":                 "{}",
		"etc/kubernetes/cni/net.d/whereabouts.d/token": "secret",
		"var/lib/kubelet/pki/client.pem":               "secret",
		"var/lib/kubelet/config.json":                  "secret",
	}
	for name, purge := range map[string]bool{"leave": false, "leave --purge": true} {
		t.Run(name, func(t *testing.T) {
			// An undo deletes empty bridges that were created after the join.
			runtime.LockOSThread()
			flowtest.NoError(t, unix.Unshare(unix.CLONE_NEWNET))
			root := t.TempDir()
			flowtest.WriteTree(t, root, before)
			flowtest.NoError(t, os.MkdirAll(filepath.Join(root, "var/lib/kubelet"), 0o750)) // an RPM contains it
			m := machinetest.Open(t, root)
			m.SharedContents.Purge = purge
			var logged flowtest.Events
			f := &Flow{Machine: m, Sink: &logged}
			flowtest.NoError(t, machine.RecordClusterDirs(t.Context(), m.Ledger, m.Tree, nil))
			if drift, err := m.Ledger.Drift(t.Context()); err != nil || len(drift) > 0 {
				t.Errorf("drift before anything changed: %v, %v", drift, err)
			}
			flowtest.WriteTree(t, root, since)

			document := &Document{}
			_, err := undoStep(document)(t.Context(), f, report.Log{Sink: &logged})
			flowtest.NoError(t, err)
			var left, kept []string
			flowtest.NoError(t, filepath.WalkDir(root, func(p string, entry os.DirEntry, err error) error {
				if err == nil && !entry.IsDir() {
					content, readErr := os.ReadFile(p)
					left = append(left, strings.TrimPrefix(p, root+"/")+": "+string(content))
					return readErr
				}
				return err
			}))
			for _, k := range document.Kept {
				kept = append(kept, k.Target)
			}
			slices.Sort(kept)
			wantLeft := []string{
				"etc/cni/net.d/podman.conflist: changed by podman", "opt/cni/README: read me",
				"opt/cni/bin/bridge: from a package",
			}
			wantRemoved := []string{
				"/etc/kubernetes/cni/net.d/whereabouts.d/token", "/var/lib/kubelet/config.json", "/var/lib/kubelet/pki",
			}
			others := []string{"/etc/cni/net.d/other.conflist", "/opt/cni/bin/own plugin"}
			wantKept := others
			if purge {
				wantRemoved, wantKept = append(wantRemoved, others...), nil
			} else {
				wantLeft = append(wantLeft,
					"etc/cni/net.d/other.conflist: {}", "opt/cni/bin/own plugin: of an administrator")
			}
			slices.Sort(wantLeft)
			slices.Sort(wantRemoved)
			slices.Sort(document.Removed)
			for what, pair := range map[string][2][]string{
				"files": {wantLeft, left}, "removed": {wantRemoved, document.Removed}, "kept": {wantKept, kept},
			} {
				if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
					t.Errorf("%s (-want +got):\n%s", what, diff)
				}
			}
			reported := strings.Contains(strings.Join(logged, "\n"),
				"kept in /opt/cni (possibly created by other programs since the join): /opt/cni/bin/own plugin")
			if reported == purge {
				t.Errorf("printed %q", logged)
			}
		})
	}
}

func TestListCommandIsValidShell(t *testing.T) {
	const want = `ls -ld -- '/a b' '/it'\''s' -x # remove those that no other program requires`
	if got := listCommand([]string{"/a b", "/it's", "-x"}); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
