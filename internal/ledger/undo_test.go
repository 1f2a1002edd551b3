// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

// serviceDriver is the driver of a service that is running until it is restored.
type serviceDriver struct {
	running bool
	stop    func()
}

func (d *serviceDriver) Get(context.Context, Change) (State, error) {
	return State{Present: d.running}, nil
}

func (d *serviceDriver) Set(context.Context, Change, State) error {
	d.running = true
	return nil
}

func (d *serviceDriver) Restore(context.Context, Change, State) error {
	d.running = false
	d.stop()
	return nil
}

// When an undo restores an object that is not a path, all newer files are in place.
func TestUndoRestoresNewerFilesFirst(t *testing.T) {
	root := populate(t)
	l := open(t, t.TempDir(), root)
	content := ""
	l.drivers.Resources = map[Kind]Driver{"service": &serviceDriver{stop: func() {
		now, _ := os.ReadFile(filepath.Join(root, "etc/replaced"))
		content = string(now)
	}}}
	_, err := l.Apply(t.Context(), "files", []Change{
		{Kind: "service", Target: "a", Desired: State{Present: true}},
		{Kind: File, Target: "/etc/replaced", Desired: ownedByTest(FileState([]byte("ours\n"), 0o644))},
	})
	must(t, err)
	_, err = l.Undo(t.Context())
	must(t, err)
	if content != "original\n" {
		t.Errorf("the service was stopped while the file was %q", content)
	}
}

// unrestorableDriver is a critical driver that fails to restore.
type unrestorableDriver struct {
	Driver
	present bool
}

func (b *unrestorableDriver) IsCritical() bool { return true }
func (b *unrestorableDriver) Get(context.Context, Change) (State, error) {
	return State{Present: b.present}, nil
}

func (b *unrestorableDriver) Restore(context.Context, Change, State) error {
	return errors.ErrUnsupported
}

// An undo stops at a critical object that it cannot restore, and keeps the older changes
// that the object depends on.
func TestUndoStopsAtCriticalObject(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	l := open(t, dir, root)
	file := func(name string) Change {
		return Change{Kind: File, Target: name, Desired: ownedByTest(FileState(nil, 0o600))}
	}
	bridge := Change{Kind: "bridge", Target: "br-ex", Desired: State{Present: true}}
	bears := &unrestorableDriver{}
	l.drivers.Resources = map[Kind]Driver{"bridge": bears}
	if _, err := l.Apply(t.Context(), "network", []Change{file("/under")}); err != nil {
		t.Fatal(err)
	}
	finish, err := l.TrackExternal(t.Context(), "network", bridge)
	if err != nil {
		t.Fatal(err)
	}
	bears.present = true
	if err := finish(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Apply(t.Context(), "network", []Change{file("/above")}); err != nil {
		t.Fatal(err)
	}
	outcome, err := l.Undo(t.Context())
	if !errors.Is(err, errors.ErrUnsupported) || len(outcome.Restored) != 1 || outcome.Restored[0].Target != "/above" {
		t.Errorf("restored %v, %v", outcome.Restored, err)
	}
	if _, err := os.Stat(filepath.Join(root, "under")); err != nil {
		t.Errorf("what it stands on is gone: %v", err)
	}
}

// An undo restores the extended attributes of a file.
func TestUndoRestoresExtendedAttributes(t *testing.T) {
	root := populate(t)
	file := filepath.Join(root, "etc/replaced")
	if err := unix.Lsetxattr(file, "user.theirs", []byte("kept"), 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.Chmod(file, 0o4711); err != nil {
		t.Fatal(err)
	}
	l := open(t, t.TempDir(), root)
	if _, err := l.Apply(t.Context(), "files", testChanges()); err != nil {
		t.Fatal(err)
	}
	tree, err := hostfs.OpenTree(root)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	if info, err := tree.Lstat("/etc/replaced"); err != nil || len(info.Xattrs["user.theirs"]) != 0 {
		t.Errorf("a new file has an old attribute: %q, %v", info.Xattrs, err)
	}
	if _, err := l.Undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	info, err := tree.Lstat("/etc/replaced")
	if err != nil || string(info.Xattrs["user.theirs"]) != "kept" || info.Mode != 0o4711 {
		t.Errorf("restored with %q, mode %04o, %v", info.Xattrs, info.Mode, err)
	}
}

// The "After" states of a "done" record are used only for external changes.
func TestWrongAfterStateLosesNoFile(t *testing.T) {
	for name, after := range map[string]State{
		"present":            {Present: true},
		"absent":             {},
		"of another content": {Present: true, Type: "file", Digest: digest([]byte("false"))},
		"as before":          {Present: true, Type: "file", Digest: digest([]byte("original\n"))},
	} {
		t.Run(name, func(t *testing.T) {
			root, dir := populate(t), t.TempDir()
			k := expectedStates{before: snapshot(t, root)}
			l := open(t, dir, root)
			_, err := l.Apply(t.Context(), "files", []Change{
				{Kind: File, Target: "/etc/replaced", Desired: ownedByTest(FileState([]byte("ours\n"), 0o644))},
				{Kind: File, Target: "/etc/new", Desired: ownedByTest(FileState([]byte("ours\n"), 0o644))},
			})
			must(t, err)
			must(t, l.append(record{Type: done, Intent: 1, After: []State{after, after}}, true))
			must(t, l.Close())
			l = open(t, dir, root)
			drift, err := l.Drift(t.Context())
			if err != nil || len(drift) != 2 && name != "present" {
				t.Errorf("drift %v, %v", drift, err)
			}
			if content, err := os.ReadFile(filepath.Join(root, "etc/replaced")); err != nil || string(content) != "ours\n" {
				t.Errorf("%q, %v", content, err)
			}
			k.checkUndo(t, l, workDir{root: root, dir: dir}, name)
		})
	}
}

// A reverted object is as before its first change, and the ledger keeps the others.
func TestRevertRestoresOnlySelectedObjects(t *testing.T) {
	root := populate(t)
	l := open(t, t.TempDir(), root)
	apply := func(content string, targets ...string) {
		t.Helper()
		var changes []Change
		for _, target := range targets {
			changes = append(changes, Change{Kind: File, Target: target, Desired: ownedByTest(FileState([]byte(content),
				0o644))})
		}
		_, err := l.Apply(t.Context(), "files", changes)
		must(t, err)
	}
	apply("first\n", "/etc/replaced", "/etc/added", "/etc/kept")
	apply("second\n", "/etc/replaced", "/etc/added")
	result, err := l.Revert(t.Context(), func(item Item) bool { return item.Target != "/etc/kept" && item.Kind == File })
	must(t, err)
	if len(result.Restored) != 2 || len(result.Kept) != 0 {
		t.Errorf("restored %v, kept %v", result.Restored, result.Kept)
	}
	replaced, err := os.ReadFile(filepath.Join(root, "etc/replaced"))
	must(t, err)
	if string(replaced) != "original\n" {
		t.Errorf("the replaced file contains %q", replaced)
	}
	if _, err := os.Stat(filepath.Join(root, "etc/added")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the added file: %v", err)
	}
	if items := l.Items(); len(items) != 1 || items[0].Target != "/etc/kept" {
		t.Errorf("the ledger has %v", items)
	}
	if drift, err := l.Drift(t.Context()); err != nil || len(drift) > 0 {
		t.Errorf("drift: %v, %v", drift, err)
	}
}

// A saved original that the disk has damaged is not restored over the current file.
func TestUndoRefusesDamagedOriginal(t *testing.T) {
	root, dir := populate(t), t.TempDir()
	l := open(t, dir, root)
	_, err := l.Apply(t.Context(), "files", testChanges())
	must(t, err)
	name := filepath.Join(dir, originalsName, digest([]byte("original\n")))
	must(t, os.WriteFile(name, []byte("origin\x00l\n"), 0o600))

	_, err = l.Undo(t.Context())
	if err == nil || !strings.Contains(err.Error(), name+" is damaged") {
		t.Errorf("error %v", err)
	}
	content, err := os.ReadFile(filepath.Join(root, "etc/replaced"))
	if err != nil || string(content) != "theirs\n" {
		t.Errorf("the file contains %q, %v", content, err)
	}
}
