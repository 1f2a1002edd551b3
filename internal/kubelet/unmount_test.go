// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/test/mountns"
)

// The mounts are real ones, in a mount namespace of the test.
func TestUnmountSelectsKubeletMounts(t *testing.T) {
	if !mountns.Isolate(t) {
		return
	}
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "disk/pods"), 0o700); err != nil {
		t.Fatal(err)
	}
	links := map[string]string{"lib/linked/pods": "../../disk/pods", "lib/containers/storage/overlay": "/disk/overlay"}
	kubelets := map[string][]string{ // by directory
		"/lib/kubelet": {
			"lib/kubelet/pods/1/volumes/kubernetes.io~projected/token", "lib/kubelet/plugins/kubernetes.io/csi/pv/globalmount",
		},
		"/lib/linked":     {"disk/pods/1/volumes/kubernetes.io~projected/token"},
		"/lib/containers": {"disk/overlay"},
	}
	others := []string{
		"lib/kubelet", // a separate disk
		"lib/kubelet/pods", "lib/kubelet/pods-of-ours", "lib/containers", "lib/containers/storage",
		"disk/overlay/1/merged", // podman's
		"disk/other",
	}
	mount := func(name string) {
		point := filepath.Join(root, name)
		if err := os.MkdirAll(point, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount("tmpfs", point, "tmpfs", 0, ""); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Unmount(point, unix.MNT_DETACH) })
	}
	for _, name := range others[:5] {
		mount(name)
	}
	for link, target := range links {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(link)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, names := range kubelets {
		for _, name := range names {
			mount(name)
		}
	}
	mount(others[5])
	mount(others[6])
	tree, err := hostfs.OpenTree(root)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	for dir, names := range kubelets {
		points, err := kubeletMounts(tree, dir)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, name := range names {
			want = append(want, filepath.Join(root, name))
		}
		slices.Sort(points)
		slices.Sort(want)
		if diff := cmp.Diff(want, points); diff != "" {
			t.Errorf("%s (-want +got):\n%s", dir, diff)
		}
	}
	// What podman has mounted keeps the storage busy, and everything else of the administrator remains.
	if gone, err := Unmount(t.Context(), tree, "/lib/kubelet"); err != nil || len(gone) != 2 {
		t.Errorf("unmounted %q, %v", gone, err)
	}
	for _, name := range others {
		if mounts, err := tree.Mounts(name); err != nil || !slices.Contains(mounts, filepath.Join(root, name)) {
			t.Errorf("%s: mounts %q, %v", name, mounts, err)
		}
	}
}
