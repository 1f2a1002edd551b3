package ledger

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUndoRemovesAddedContents(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "lib/old"), 0o750); err != nil {
		t.Fatal(err)
	}
	before := listTree(t, root)
	l := open(t, dir, root)
	finish, err := l.TrackExternal(t.Context(), "kubelet", Change{Kind: Contents, Target: "/lib", Desired: State{Present: true}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(root, "lib/pods/a"), 0o750); err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(root, "lib/pods/a/escape")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(outside, "precious"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := finish(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Undo(context.Background()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, listTree(t, root)); diff != "" {
		t.Errorf("after undo (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(filepath.Join(outside, "precious")); err != nil {
		t.Errorf("a file outside was touched: %v", err)
	}
}

func TestUndoKeepsDirectoriesWithForeignFiles(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	before := listTree(t, root)
	l := open(t, dir, root)
	if _, err := l.TrackExternal(t.Context(), "files", Change{Kind: Contents, Target: "/lib", Desired: State{Present: true}}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Apply(t.Context(), "files", []Change{
		{Kind: File, Target: "/lib/kubelet/config", Desired: ownedByTest(FileState(nil, 0o600))},
		{Kind: File, Target: "/etc/ours", Desired: ownedByTest(FileState(nil, 0o600))},
	}); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"lib/kubelet/cache", "etc/theirs"} {
		if err := os.WriteFile(filepath.Join(root, file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	outcome, err := l.Undo(t.Context())
	if err != nil || len(outcome.Kept) != 1 || outcome.Kept[0].Target != "/etc" {
		t.Fatalf("kept %v, %v", outcome.Kept, err)
	}
	want := append(slices.Clone(before), "/etc drwxr-xr-x", `/etc/theirs -rw------- ""`)
	if diff := cmp.Diff(want, listTree(t, root)); diff != "" {
		t.Errorf("after undo (-want +got):\n%s", diff)
	}
	if err := l.Remove(); err != nil {
		t.Error(err)
	}
}

func TestLaterDesiredStateInheritsUnsetFields(t *testing.T) {
	got := carryOver(State{Present: true, Enabled: "enabled"}, State{Present: true, Active: "active"})
	if got.Enabled != "enabled" || got.Active != "active" {
		t.Errorf("%+v", got)
	}
	if got := carryOver(State{Present: true, Enabled: "enabled"}, State{}); got.Enabled != "" {
		t.Errorf("a wish for absence carries over %+v", got)
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
	l.drivers["bridge"] = bears
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
