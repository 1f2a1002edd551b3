// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// What a leave removes behind a link must be the cluster's: the directory that the link leads to was empty.
func TestLinkedDirectoriesAreRecorded(t *testing.T) {
	root := t.TempDir()
	for name, target := range map[string]string{
		"var/lib/kubelet":          "/disk/kubelet", // empty
		"disk/kubelet/pods":        "/disk/pods",    // a link in it, empty
		"var/log/pods":             "/disk",         // others' files
		"opt/cni/bin":              "/usr/libexec/cni",
		"etc/cni/net.d":            "../../disk/net.d",
		"var/log/containers":       "/none",
		"var/log/crio/crio.log":    "/disk/file",
		"var/lib/ovnk/deep/linked": "/disk",
	} {
		for _, dir := range []string{filepath.Dir(name), "disk/net.d", "disk/pods", "usr/libexec/cni"} {
			if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"disk/file", "usr/libexec/cni/bridge"} {
		if err := os.WriteFile(filepath.Join(root, file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := hostfs.OpenTree(root)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	dirs, err := withLinks(tree, ClusterDirs())
	if diff := cmp.Diff(append(ClusterDirs(), "/var/lib/kubelet/pods"), dirs); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for dir, want := range map[string]ledger.Kind{
		"/var/lib/kubelet":      ledger.SharedContents, // it contains the link pods
		"/var/lib/kubelet/pods": ledger.Contents,
		"/var/log/pods":         ledger.SharedContents,
		"/var/log/containers":   ledger.Contents, // dangling: an undo refuses if it leads to a directory then
		"/etc/cni/net.d":        ledger.Contents,
		"/etc/cni/multus":       ledger.Contents,
	} {
		if got, err := snapshotKind(tree, dir); err != nil || got != want {
			t.Errorf("snapshotKind(%s) = %v, %v, want %v", dir, got, err, want)
		}
	}
	changes, err := pluginSnapshots(tree)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]ledger.Kind{}
	for _, change := range changes {
		kinds[change.Target] = change.Kind
	}
	for target, want := range map[string]ledger.Kind{
		"/opt/cni/bin/bridge": ledger.File, "/opt/cni/bin": ledger.SharedContents, "/etc/kubernetes/cni": ledger.Contents,
	} {
		if kinds[target] != want {
			t.Errorf("%s is recorded as %q, want %q", target, kinds[target], want)
		}
	}
}
