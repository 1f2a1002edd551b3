// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

// buildTree creates a tree in which every kind of change has an effect. As root it has several
// owners.
func buildTree(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	buildTreeIn(t, root)
	return root
}

// buildTreeIn creates the files of buildTree in a directory.
func buildTreeIn(t *testing.T, root string) {
	t.Helper()
	for _, dir := range []string{"etc", "opt/tree/b/deep", "opt/emptied/old", "srv/real/sub", "var/kept"} {
		must(t, os.MkdirAll(filepath.Join(root, dir), 0o755)) //nolint:gosec // as on a host
	}
	for name, content := range map[string]string{
		"etc/replaced": "original\n", "etc/unwanted": "still wanted\n", "etc/same": "same\n", "etc/attributes": "#!/bin/sh\n",
		"etc/becomes-directory": "a file\n", "opt/tree/a": "a\n", "opt/tree/b/deep/c": "c\n", "opt/emptied/gone": "gone\n",
		"opt/emptied/old/x": "x\n", "srv/real/f": "below\n", "etc/other-name": "mine\n",
	} {
		must(t, os.WriteFile(filepath.Join(root, name), []byte(content), 0o640)) //nolint:gosec // as on a host
	}
	for name, target := range map[string]string{
		"etc/was-link": "same", "etc/was-link-too": "/nowhere", "opt/tree/b/link": "../a", "opt/linked": "/srv/real",
	} {
		must(t, os.Symlink(target, filepath.Join(root, name)))
	}
	must(t, unix.Lsetxattr(filepath.Join(root, "etc/replaced"), "user.theirs", []byte("kept"), 0))
	must(t, unix.Lsetxattr(filepath.Join(root, "opt/tree"), "user.tree", []byte("kept"), 0))
	must(t, os.Lchown(filepath.Join(root, "opt/tree/b/link"), 7, 8))
	must(t, os.Lchown(filepath.Join(root, "opt/tree/b/deep"), 9, 9))
	must(t, unix.Chmod(filepath.Join(root, "etc/attributes"), 0o4755))
	must(t, unix.Chmod(filepath.Join(root, "opt/tree/b"), 0o2750))
}

// treeChanges returns changes as Ignition's rules produce them. They replace and remove
// trees, and create a file below a symbolic link to a directory that has a file of that
// name and content.
func treeChanges() []Change {
	absent := func(kind Kind, p string) Change { return Change{Kind: kind, Target: p} }
	owner := 12
	return []Change{
		{Kind: Directory, Target: "/srv", Desired: DirectoryState(0o700)},
		{Kind: File, Target: "/etc/replaced", Desired: FileState([]byte("theirs\n"), 0o755)},
		{Kind: File, Target: "/etc/was-link", Desired: FileState([]byte("plain\n"), 0o644)},
		{Kind: Symlink, Target: "/etc/was-link-too", Desired: State{Present: true, Link: "same"}},
		{Kind: Symlink, Target: "/etc/masked.service", Desired: State{Present: true, Link: "/dev/null"}},
		absent(File, "/etc/unwanted"),
		{Kind: File, Target: "/etc/attributes", Desired: State{Present: true, UID: &owner}},
		{Kind: File, Target: "/etc/empty", Desired: State{Present: true}},
		absent(File, "/etc/becomes-directory"),
		{Kind: Directory, Target: "/etc/becomes-directory", Desired: DirectoryState(0o750)},
		{Kind: File, Target: "/etc/becomes-directory/new/deep", Desired: FileState([]byte("deep\n"), 0o600)},
		absent(File, "/opt/tree/b/link"), absent(File, "/opt/tree/b/deep/c"), absent(Directory, "/opt/tree/b/deep"),
		absent(Directory, "/opt/tree/b"), absent(File, "/opt/tree/a"), absent(Directory, "/opt/tree"),
		{Kind: File, Target: "/opt/tree", Desired: FileState([]byte("a file now\n"), 0o640)},
		absent(File, "/opt/emptied/old/x"), absent(Directory, "/opt/emptied/old"), absent(File, "/opt/emptied/gone"),
		{Kind: Directory, Target: "/opt/emptied", Desired: DirectoryState(0o711)},
		{Kind: Symlink, Target: "/opt/emptied/old", Desired: State{Present: true, Link: "../tree"}},
		absent(Symlink, "/opt/linked"),
		{Kind: Directory, Target: "/opt/linked", Desired: DirectoryState(0o755)},
		{Kind: File, Target: "/opt/linked/f", Desired: FileState([]byte("below\n"), 0o640)},
		{Kind: File, Target: "/opt/linked/sub/g", Desired: FileState([]byte("deeper\n"), 0o640)},
		{Kind: HardLink, Target: "/etc/other-name", Desired: State{Present: true, Link: "/etc/replaced"}},
		{Kind: HardLink, Target: "/etc/new-name", Desired: HardLinkState("/etc/replaced", hostfs.Regular)},
		{Kind: HardLink, Target: "/etc/link-name", Desired: HardLinkState("/etc/was-link-too", hostfs.Symlink)},
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// snapshot returns one line for each path in a tree: type, mode, owner, content, link
// target, attributes, and the other hard links of a file.
func snapshot(t *testing.T, root string) []string {
	t.Helper()
	tree, err := hostfs.OpenTree(root)
	must(t, err)
	defer tree.Close()
	var lines []string
	type fileID struct{ device, inode uint64 }
	first := map[fileID]string{}
	must(t, tree.Walk("/", func(p string, info hostfs.Info) error {
		line := fmt.Sprintf("%s %s %04o %d:%d %q", p, info.Type, info.Mode, info.UID, info.GID, info.Link)
		if info.Type == hostfs.Regular {
			content, _, err := tree.ReadFile(p)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %q", content)
			id := fileID{device: info.Device, inode: info.Inode}
			if other := first[id]; other != "" {
				line += " is " + other
			} else {
				first[id] = p
			}
		}
		for name, value := range info.Xattrs {
			if strings.HasPrefix(name, "user.") { // SELinux labels are set by the kernel
				line += fmt.Sprintf(" %s=%s", name, value)
			}
		}
		lines = append(lines, line)
		return nil
	}))
	slices.Sort(lines)
	return lines
}

// copyTree returns a copy of a tree with all its attributes.
func copyTree(t *testing.T, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "twin")
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return to
}

func requireRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("giving files to other owners needs root")
	}
}

// useTmpfs puts the temporary directories of a test on a tmpfs, if there is one. The result
// of a kill does not depend on the disk, and a sync costs nothing.
func useTmpfs(t *testing.T) {
	t.Helper()
	const shm = "/dev/shm"
	probe := filepath.Join(shm, fmt.Sprintf("hcp-node-agent-test-%d", os.Getpid()))
	if os.Mkdir(probe, 0o700) != nil {
		return
	}
	attributes := unix.Lsetxattr(probe, "user.probe", []byte("1"), 0)
	must(t, os.Remove(probe))
	if attributes == nil {
		t.Setenv("TMPDIR", shm)
	}
}
