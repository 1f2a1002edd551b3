// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/test/mountns"
)

const mountTable = `22 1 253:0 / / rw,relatime shared:1 - xfs /dev/mapper/root rw
23 22 0:21 / /proc rw,nosuid - proc proc rw
40 22 253:2 / /var rw,relatime shared:2 - xfs /dev/mapper/var rw
41 40 0:50 / /var/lib/kubelet/pods/1/volumes/a rw - tmpfs tmpfs rw
42 40 253:0 /data /var/lib/kubelet/pods/1/volumes/with\040space\134\011 rw master:3 - xfs /dev/mapper/root rw
43 40 0:51 / /var/lib/kubelet-other rw - tmpfs tmpfs rw
44 41 0:52 / /var/lib/kubelet/pods/1/volumes/a/deeper rw - tmpfs tmpfs rw
45 41 0:53 / /var/lib/kubelet/pods/1/volumes/a rw - tmpfs tmpfs rw
bad line
`

func TestMountsBelow(t *testing.T) {
	for dir, want := range map[string][]string{
		"/var/lib/kubelet": {
			"/var/lib/kubelet/pods/1/volumes/with space\\\t", "/var/lib/kubelet/pods/1/volumes/a/deeper",
			"/var/lib/kubelet/pods/1/volumes/a", "/var/lib/kubelet/pods/1/volumes/a",
		},
		"/proc": {"/proc"},
		"/etc":  nil,
	} {
		if diff := cmp.Diff(want, mountsBelow(ParseMounts(mountTable), dir)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", dir, diff)
		}
	}
	if all := mountsBelow(ParseMounts(mountTable), "/"); len(all) != 8 || all[7] != "/" {
		t.Errorf("all: %q", all)
	}
}

// The entry of a moved mount precedes that of its current parent.
func TestMountsBelowAreDeepestFirst(t *testing.T) {
	table := "50 61 0:60 / /run/x/moved rw - tmpfs tmpfs rw\n61 22 0:61 / /run/x rw - tmpfs tmpfs rw\n"
	if diff := cmp.Diff([]string{"/run/x/moved", "/run/x"}, mountsBelow(ParseMounts(table), "/run")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUnescapeMount(t *testing.T) {
	for field, want := range map[string]string{
		`/plain`: "/plain", `/a\040b`: "/a b", `\011\012\134`: "\t\n\\", `/a\04`: `/a\04`, `/a\`: `/a\`, `/a\999`: `/a\999`,
		`/\134040`: `/\040`, "": "",
	} {
		if got := mountEscapes.Replace(field); got != want {
			t.Errorf("mountEscapes.Replace(%s) = %q, want %q", field, got, want)
		}
	}
}

// walked returns what Walk visits, in order.
func walked(t *testing.T, tree *Tree, p string) []string {
	t.Helper()
	var visited []string
	err := tree.Walk(p, func(p string, info Info) error {
		visited = append(visited, p+" "+string(info.Type))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return visited
}

func TestWalkFollowsNoLinks(t *testing.T) {
	tree, root := openTest(t)
	put(t, root, "top/b/file", "")
	put(t, root, "top/a/deep/file", "")
	put(t, root, "other/file", "")
	symlink(t, "/other", root, "top/link")
	symlink(t, "..", root, "top/a/up")
	want := []string{
		"/top/a directory", "/top/a/deep directory", "/top/a/deep/file file", "/top/a/up link",
		"/top/b directory", "/top/b/file file", "/top/link link",
	}
	if diff := cmp.Diff(want, walked(t, tree, "/top")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if visited := walked(t, tree, "/none"); visited != nil {
		t.Errorf("nothing there, and visited %q", visited)
	}
	enough := errors.New("enough")
	n := 0
	err := tree.Walk("/top", func(string, Info) error { n++; return enough })
	if !errors.Is(err, enough) || n != 1 {
		t.Errorf("after an error of visit: %v, %d visits", err, n)
	}
}

// Real mounts, in a mount namespace of the test.
func TestWalkStopsAtMounts(t *testing.T) {
	if !mountns.Isolate(t) {
		return
	}
	tree, root := openTest(t)
	put(t, root, "lib/volume/hidden", "")
	put(t, root, "lib/bind/hidden", "")
	put(t, root, "source/theirs", "")
	if err := unix.Mount("tmpfs", filepath.Join(root, "lib/volume"), "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	put(t, root, "lib/volume/theirs", "")
	if err := unix.Mount(filepath.Join(root, "source"), filepath.Join(root, "lib/bind"), "", unix.MS_BIND,
		""); err != nil {
		t.Fatal(err)
	}
	// A bind mount has the same device number, and another mount ID.
	want := []string{"/lib/bind directory", "/lib/volume directory"}
	if diff := cmp.Diff(want, walked(t, tree, "/lib")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	symlink(t, "lib", root, "link")
	symlink(t, "/link", root, "chain")
	if got := walked(t, tree, "/chain"); len(got) != 2 || got[0] != "/chain/bind directory" {
		t.Errorf("through links: %q", got)
	}
	if err := RemoveAll(filepath.Join(root, "lib")); err == nil || !strings.Contains(err.Error(), "umount") {
		t.Errorf("removing a directory with mounts: %v", err)
	}
	for _, file := range []string{"source/theirs", "lib/volume/theirs"} {
		if _, err := os.Stat(filepath.Join(root, file)); err != nil {
			t.Errorf("deleted: %v", err)
		}
	}
	mounts, err := tree.Mounts("/chain")
	slices.Sort(mounts)
	if err != nil || !slices.Equal(mounts, []string{filepath.Join(root, "lib/bind"), filepath.Join(root, "lib/volume")}) {
		t.Errorf("mounts %q, %v", mounts, err)
	}
	for _, mount := range mounts {
		if err := Unmount(mount); err != nil {
			t.Error(err)
		}
	}
	if left, err := tree.Mounts("/lib"); err != nil || len(left) != 0 {
		t.Errorf("left mounted: %q, %v", left, err)
	}
}
