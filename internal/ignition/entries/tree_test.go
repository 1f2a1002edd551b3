// SPDX-License-Identifier: Apache-2.0

package entries

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/coreos/ignition/v2/config/v3_6"
	"github.com/coreos/ignition/v2/config/v3_6/types"
	"github.com/vincent-petithory/dataurl"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/accounts"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// newTree creates a tree in a new directory. Each line has a type (d, f or l), a path, mode and
// owner (not for links; by default 0644 or 0755 and the current user), and after an equals sign
// the content or the target:
//
//	f /etc/motd 0600 7:8 =hello
//
// Parents are created with mode 0755.
func newTree(t *testing.T, lines string) (*hostfs.Tree, string) {
	t.Helper()
	root := filepath.Join(t.TempDir(), "root")
	must(t, os.Mkdir(root, 0o755)) //nolint:gosec // as the root of a host
	for line := range strings.Lines(lines) {
		if line = strings.TrimSpace(line); line != "" {
			createPath(t, root, line)
		}
	}
	tree, err := hostfs.OpenTree(root)
	must(t, err)
	t.Cleanup(func() { tree.Close() })
	return tree, root
}

func createPath(t *testing.T, root, line string) {
	t.Helper()
	head, content, _ := strings.Cut(line, "=")
	words := strings.Fields(head)
	p := filepath.Join(root, words[1])
	must(t, os.MkdirAll(filepath.Dir(p), 0o755)) //nolint:gosec // as on a host
	mode, uid, gid := 0o644, os.Geteuid(), os.Getegid()
	switch words[0] {
	case "d":
		mode = 0o755
		must(t, os.MkdirAll(p, 0o700))
	case "f":
		unquoted, err := strconv.Unquote(`"` + content + `"`)
		must(t, err)
		must(t, os.WriteFile(p, []byte(unquoted), 0o600))
	case "l":
		must(t, os.Symlink(content, p))
	case "h":
		must(t, os.Link(filepath.Join(root, content), p))
		return
	default:
		t.Fatalf("what is %q?", line)
	}
	for _, word := range words[2:] {
		if user, group, is := strings.Cut(word, ":"); is {
			uid, _ = strconv.Atoi(user)
			gid, _ = strconv.Atoi(group)
			continue
		}
		_, err := fmt.Sscanf(word, "%o", &mode)
		must(t, err)
	}
	must(t, os.Lchown(p, uid, gid))
	if words[0] != "l" {
		must(t, syscall.Chmod(p, uint32(mode))) //nolint:gosec // four octal digits
	}
}

// listing returns a tree in the format of newTree, with all compared attributes.
func listing(t *testing.T, root string) string {
	t.Helper()
	var out strings.Builder
	names := map[uint64]string{}
	must(t, filepath.WalkDir(root, func(p string, entry fs.DirEntry, err error) error {
		if err != nil || p == root {
			return err
		}
		name := strings.TrimPrefix(p, root)
		var stat syscall.Stat_t
		if err := syscall.Lstat(p, &stat); err != nil {
			return err
		}
		owner := fmt.Sprintf("%d:%d", stat.Uid, stat.Gid)
		switch {
		case entry.IsDir():
			fmt.Fprintf(&out, "d %s %04o %s\n", name, stat.Mode&0o7777, owner)
		case stat.Nlink > 1 && names[stat.Ino] != "":
			fmt.Fprintf(&out, "h %s =%s\n", name, names[stat.Ino])
		case entry.Type()&fs.ModeSymlink != 0:
			names[stat.Ino] = name
			target, err := os.Readlink(p)
			fmt.Fprintf(&out, "l %s %s =%s\n", name, owner, target)
			return err
		default:
			content, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			names[stat.Ino] = name
			quoted := strings.Trim(strconv.Quote(string(content)), `"`)
			fmt.Fprintf(&out, "f %s %04o %s =%s\n", name, stat.Mode&0o7777, owner, quoted)
		}
		return nil
	}))
	return out.String()
}

// inputOf parses a config as Ignition does and decodes its contents.
func inputOf(t *testing.T, tree *hostfs.Tree, config string, strict bool) Input {
	t.Helper()
	if !strings.Contains(config, `"ignition"`) {
		config = `{"ignition":{"version":"3.6.0"},` + strings.TrimPrefix(config, "{")
	}
	parsed, report, err := v3_6.Parse([]byte(config))
	if err != nil {
		t.Fatalf("parsing config: %v %s", err, report)
	}
	in := Input{
		Storage: parsed.Storage, Units: parsed.Systemd.Units, Tree: tree, Strict: strict,
		Contents: map[string][]byte{}, Appends: map[string][]byte{},
	}
	for _, file := range parsed.Storage.Files {
		if file.Contents.Source != nil {
			in.Contents[file.Path] = decodeResource(t, file.Contents)
		}
		for _, one := range file.Append {
			in.Appends[file.Path] = append(in.Appends[file.Path], decodeResource(t, one)...)
		}
	}
	users, groups, err := accounts.IDs(tree)
	must(t, err)
	in.User, in.Group = users, groups
	return in
}

func decodeResource(t *testing.T, resource types.Resource) []byte {
	t.Helper()
	if *resource.Source == "" {
		return []byte{}
	}
	url, err := dataurl.DecodeString(*resource.Source)
	must(t, err)
	return url.Data
}

// openLedger opens a ledger for the paths of a tree.
func openLedger(t *testing.T, tree *hostfs.Tree) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(filepath.Join(t.TempDir(), "ledger"), ledger.Drivers{Paths: &ledger.Paths{Tree: tree}})
	must(t, err)
	t.Cleanup(func() { l.Close() })
	return l
}

// formatChanges formats changes: kind, path and desired state.
func formatChanges(changes []ledger.Change) []string {
	list := make([]string, 0, len(changes))
	for _, c := range changes {
		text := fmt.Sprintf("%s %s", c.Kind, c.Target)
		if !c.Desired.Present {
			list = append(list, "no "+text)
			continue
		}
		if c.Desired.Mode != nil {
			text += fmt.Sprintf(" %04o", *c.Desired.Mode)
		}
		if c.Desired.UID != nil {
			text += fmt.Sprintf(" u%d", *c.Desired.UID)
		}
		if c.Desired.GID != nil {
			text += fmt.Sprintf(" g%d", *c.Desired.GID)
		}
		if c.Desired.Link != "" {
			text += " -> " + c.Desired.Link
		}
		if c.Desired.Digest != "" {
			text += " =" + strings.Trim(strconv.Quote(string(c.Desired.Content)), `"`)
		}
		list = append(list, text)
	}
	return list
}

// pending returns the targets of the changes that remain.
func pending(t *testing.T, l *ledger.Ledger, changes []ledger.Change) []string {
	t.Helper()
	list, err := l.Diff(context.Background(), changes)
	must(t, err)
	var targets []string
	for _, p := range list {
		targets = append(targets, p.Key())
	}
	return targets
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// trimmedLines returns the lines of a text without indentation, sorted.
func trimmedLines(text string) []string {
	var list []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	slices.Sort(list)
	return list
}
