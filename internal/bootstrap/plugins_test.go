package bootstrap

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/networkplugin"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/migrate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// writeTree creates files below a root, with their directories.
func writeTree(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		p := filepath.Join(root, name)
		noError(t, os.MkdirAll(filepath.Dir(p), 0o755))     //nolint:gosec // as on a host
		noError(t, os.WriteFile(p, []byte(content), 0o755)) //nolint:gosec // as on a host
	}
}

// hostIn returns a host below root with a ledger of its own, which the test
// closes.
func hostIn(t *testing.T, root string) *localHost {
	t.Helper()
	tree, err := hostfs.OpenTree(root)
	noError(t, err)
	t.Cleanup(func() { _ = tree.Close() })
	m := &localHost{tree: tree, bridge: &migrate.Driver{Tree: tree}, plugin: &networkplugin.Driver{}}
	m.ledger, err = ledger.Open(t.TempDir(), m.drivers())
	noError(t, err)
	t.Cleanup(func() { _ = m.ledger.Close() })
	return m
}

func TestLeaveRemovesWhatTheNodeCreatedAndKeepsTheRest(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("a network namespace needs root")
	}
	before := map[string]string{"opt/cni/bin/bridge": "from a package", "opt/cni/README": "read me", "etc/cni/net.d/podman.conflist": "{}"}
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
			noError(t, unix.Unshare(unix.CLONE_NEWNET))
			root := t.TempDir()
			writeTree(t, root, before)
			noError(t, os.MkdirAll(filepath.Join(root, "var/lib/kubelet"), 0o750)) // an RPM contains it
			m := hostIn(t, root)
			m.sharedDriver.Purge = purge
			var story events
			j := &operation{localHost: m, plan: &ignition.Plan{}, sink: &story}
			_, err := writeFiles(t.Context(), j, report.Log{})
			noError(t, err)
			if drift, err := m.ledger.Drift(t.Context()); err != nil || len(drift) > 0 {
				t.Errorf("drift before anything changed: %v, %v", drift, err)
			}
			writeTree(t, root, since)

			document := &LeaveDocument{}
			_, err = undoStep(document)(t.Context(), j, report.Log{Sink: &story})
			noError(t, err)
			var left, kept []string
			noError(t, filepath.WalkDir(root, func(p string, entry os.DirEntry, err error) error {
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
				"etc/cni/net.d/podman.conflist: changed by podman", "opt/cni/README: read me", "opt/cni/bin/bridge: from a package",
			}
			wantRemoved := []string{"/etc/kubernetes/cni/net.d/whereabouts.d/token", "/var/lib/kubelet/config.json", "/var/lib/kubelet/pki"}
			others := []string{"/etc/cni/net.d/other.conflist", "/opt/cni/bin/own plugin"}
			wantKept := others
			if purge {
				wantRemoved, wantKept = append(wantRemoved, others...), nil
			} else {
				wantLeft = append(wantLeft, "etc/cni/net.d/other.conflist: {}", "opt/cni/bin/own plugin: of an administrator")
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
			told := strings.Contains(strings.Join(story, "\n"), "kept in /opt/cni, as others can have put them there since the join: /opt/cni/bin/own plugin")
			if told == purge {
				t.Errorf("printed %q", story)
			}
		})
	}
}

func TestRemoveCommandIsValidShell(t *testing.T) {
	if got, want := removeCommand([]string{"/a b", "/it's", "-x"}), `rm -- '/a b' '/it'\''s' '-x'`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
