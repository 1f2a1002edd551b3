// SPDX-License-Identifier: Apache-2.0

package differential

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Node is a file, directory or link of the initial tree.
type Node struct {
	Path       string // below the root, for example "/etc/passwd"
	Content    string // of a file
	Link       string // the target of a symbolic link
	HardLinkTo string // the path of an earlier node of which this is a hard link
	Mode       uint32 // 0: 0755 for a directory, 0644 for a file
	UID, GID   int
	Xattr      string // the value of user.test
	Fifo       bool
}

// IsDir reports whether the node is a directory: its path ends with a slash.
func (n Node) IsDir() bool { return strings.HasSuffix(n.Path, "/") }

// CreateTree creates the nodes and their parents below root.
func CreateTree(root string, nodes []Node) error {
	for _, node := range nodes {
		if err := createNode(filepath.Join(root, node.Path), root, node); err != nil {
			return fmt.Errorf("planting %s: %w", node.Path, err)
		}
	}
	return nil
}

func createNode(path, root string, node Node) error {
	mode := node.Mode
	if mode == 0 {
		mode = 0o644
		if node.IsDir() {
			mode = 0o755
		}
	}
	err := os.MkdirAll(filepath.Dir(path), 0o755) //nolint:gosec // as in an image
	if err != nil {
		return err
	}
	switch {
	case node.IsDir():
		err = os.MkdirAll(path, 0o755) //nolint:gosec // as in an image
	case node.Link != "":
		if err := os.Symlink(node.Link, path); err != nil {
			return err
		}
		return os.Lchown(path, node.UID, node.GID)
	case node.HardLinkTo != "":
		return os.Link(filepath.Join(root, node.HardLinkTo), path)
	case node.Fifo:
		err = unix.Mkfifo(path, mode)
	default:
		err = os.WriteFile(path, []byte(node.Content), 0o600)
	}
	if err != nil {
		return err
	}
	if err := os.Lchown(path, node.UID, node.GID); err != nil {
		return err
	}
	if err := unix.Chmod(path, mode); err != nil {
		return err
	}
	if node.Xattr == "" {
		return nil
	}
	return unix.Setxattr(path, "user.test", []byte(node.Xattr), 0)
}

// Listing returns the visible state of a tree by path: type, mode, owner, target, content, other
// hard links and extended attributes. Paths in skip are omitted.
func Listing(root string, skip ...string) (map[string]string, error) {
	return list(root, false, skip)
}

// ListingWithTimes returns Listing and, except for directories, the inode and time. This detects files that
// were rewritten with the same content.
func ListingWithTimes(root string, skip ...string) (map[string]string, error) {
	return list(root, true, skip)
}

func list(root string, stamps bool, skip []string) (map[string]string, error) {
	lines := map[string]string{}
	names := map[uint64]string{} // the first name of each file with several hard links
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := "/" + strings.TrimPrefix(strings.TrimPrefix(path, root), "/")
		if slices.Contains(skip, name) {
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		line, err := describe(path, info)
		if err != nil {
			return err
		}
		stat := info.Sys().(*syscall.Stat_t)
		if stat.Nlink > 1 && !info.IsDir() {
			if _, known := names[stat.Ino]; !known {
				names[stat.Ino] = name
			}
			line += " same=" + names[stat.Ino]
		}
		if stamps && !info.IsDir() {
			line += fmt.Sprintf(" inode=%d time=%s", stat.Ino, info.ModTime().Format(time.RFC3339Nano))
		}
		lines[name] = line
		return nil
	})
	return lines, err
}

func describe(path string, info fs.FileInfo) (string, error) {
	stat := info.Sys().(*syscall.Stat_t)
	line := fmt.Sprintf("%s %04o %d:%d", info.Mode().Type(), stat.Mode&0o7777, stat.Uid, stat.Gid)
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		return line + " -> " + target, nil
	case info.Mode().IsRegular():
		content, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		if strings.HasSuffix(path, "/etc/shadow") {
			content = []byte(withoutDays(string(content)))
		}
		if len(content) > 2000 {
			line += fmt.Sprintf(" %d bytes, sha256 %x", len(content), sha256.Sum256(content))
		} else {
			line += fmt.Sprintf(" %q", content)
		}
	}
	attributes, err := xattrs(path)
	return line + attributes, err
}

// withoutDays removes the days of the last changes from a shadow file. A run can end after
// midnight, and usermod sets the day even without a change.
func withoutDays(content string) string {
	lines := strings.Split(content, "\n")
	for i, line := range lines {
		if fields := strings.Split(line, ":"); len(fields) > 2 {
			fields[2] = "day"
			lines[i] = strings.Join(fields, ":")
		}
	}
	return strings.Join(lines, "\n")
}

func xattrs(path string) (string, error) {
	buffer := make([]byte, 4096)
	n, err := unix.Llistxattr(path, buffer)
	if err != nil {
		return "", fmt.Errorf("listing attributes of %s: %w", path, err)
	}
	line := ""
	names := strings.Split(strings.TrimSuffix(string(buffer[:n]), "\x00"), "\x00")
	slices.Sort(names)
	for _, name := range names {
		if name == "" || name == "security.selinux" {
			continue
		}
		value := make([]byte, 4096)
		n, err := unix.Lgetxattr(path, name, value)
		if err != nil {
			return "", fmt.Errorf("reading attribute %s of %s: %w", name, path, err)
		}
		line += fmt.Sprintf(" %s=%q", name, value[:n])
	}
	return line, nil
}
