// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// madeChanges writes files that another program has made, and returns them with the states before.
func madeChanges(t *testing.T, root string) []PlannedChange {
	t.Helper()
	var made []PlannedChange
	for _, name := range []string{"/etc/made/a", "/etc/made/b"} {
		must(t, os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755)) //nolint:gosec // as on a host
		must(t, os.WriteFile(filepath.Join(root, name), []byte("payload\n"), 0o600))
		made = append(made, PlannedChange{Change: Change{
			Kind: File, Target: name, Desired: ownedByTest(FileState([]byte("payload\n"), 0o600)),
		}})
	}
	return made
}

// What another program has made is recorded without a change of it. Then it is like a change of the ledger.
func TestRecordMade(t *testing.T) {
	root := populate(t)
	before := snapshot(t, root)
	made := madeChanges(t, root)
	as := snapshot(t, root)
	l := open(t, t.TempDir(), root)
	must(t, l.RecordMade("files", made))
	if diff := cmp.Diff(as, snapshot(t, root)); diff != "" {
		t.Fatalf("the objects were changed (-want +got):\n%s", diff)
	}
	if pending, err := l.Diff(t.Context(), []Change{made[0].Change, made[1].Change}); err != nil || len(pending) > 0 {
		t.Errorf("to be changed: %v, %v", pending, err)
	}
	if drift, err := l.Drift(t.Context()); err != nil || len(drift) > 0 {
		t.Errorf("drift: %v, %v", drift, err)
	}
	must(t, os.WriteFile(filepath.Join(root, "etc/made/a"), []byte("edited\n"), 0o600))
	if drift, err := l.Drift(t.Context()); err != nil || len(drift) != 1 || drift[0].Target != "/etc/made/a" {
		t.Errorf("drift of an edited file: %v, %v", drift, err)
	}
	outcome, err := l.Undo(t.Context())
	must(t, err)
	if len(outcome.Kept) != 1 || outcome.Kept[0].Target != "/etc/made/a" || len(outcome.Restored) != 1 {
		t.Errorf("undo: %+v", outcome)
	}
	must(t, os.RemoveAll(filepath.Join(root, "etc/made")))
	if diff := cmp.Diff(before, snapshot(t, root)); diff != "" {
		t.Errorf("undone (-want +got):\n%s", diff)
	}
}

// An object whose earlier state is not known is like a change of the ledger: its drift is found, and repairs and later
// payloads change it. A revert leads to its recorded state.
func TestRecordPresent(t *testing.T) {
	const target = "/etc/made/a"
	next := Change{Kind: File, Target: target, Desired: ownedByTest(FileState([]byte("next payload\n"), 0o600))}
	for name, test := range map[string]struct {
		edit     string  // content that the administrator writes, "" for none
		apply    *Change // by a repair or an upgrade, nil for none
		drift    bool    // before apply
		applied  string  // content after apply
		reverted string  // content after an undo
		backup   bool    // of the edited content
	}{
		"unchanged": {applied: "payload\n", reverted: "payload\n"},
		"edited":    {edit: "mine\n", drift: true, applied: "mine\n", reverted: "mine\n"},
		"repaired": {
			edit: "mine\n", apply: &madeChanges(t, t.TempDir())[0].Change, drift: true, applied: "payload\n",
			reverted: "payload\n", backup: true,
		},
		"upgraded": {apply: &next, applied: "next payload\n", reverted: "payload\n"},
		"edited and upgraded": {
			edit: "mine\n", apply: &next, drift: true, applied: "next payload\n", reverted: "payload\n", backup: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			made := madeChanges(t, root)
			l := open(t, t.TempDir(), root)
			must(t, l.RecordPresent(t.Context(), "files", []Change{made[0].Change}))
			file := filepath.Join(root, target)
			if test.edit != "" {
				must(t, os.WriteFile(file, []byte(test.edit), 0o600))
			}
			if drift, err := l.Drift(t.Context()); err != nil || (len(drift) > 0) != test.drift {
				t.Errorf("drift: %v, %v", drift, err)
			}
			if test.apply != nil {
				made, err := l.Apply(t.Context(), "files", []Change{*test.apply})
				must(t, err)
				if drift, err := l.Drift(t.Context()); err != nil || len(drift) > 0 || len(made) != 1 {
					t.Errorf("drift after %d changes: %v, %v", len(made), drift, err)
				}
			}
			check := func(when, want string) {
				t.Helper()
				if content, err := os.ReadFile(file); err != nil || string(content) != want {
					t.Errorf("%s: content %q, %v; want %q", when, content, err, want)
				}
			}
			check("applied", test.applied)
			if backup, err := os.ReadFile(file + backupSuffix); (string(backup) == test.edit && err == nil) != test.backup {
				t.Errorf("copy of the edited file: %q, %v", backup, err)
			}
			_, err := l.Undo(t.Context())
			must(t, err)
			check("undone", test.reverted)
		})
	}
}

// A unit of which a payload only sets the enablement can start and stop. A revert changes neither.
func TestRecordPresentUnit(t *testing.T) {
	l := open(t, t.TempDir(), t.TempDir())
	unit := &fakeUnits{now: State{Present: true, Enabled: "enabled", Active: "inactive"}}
	l.drivers.Resources = map[Kind]Driver{Unit: unit}
	enabled := Change{Kind: Unit, Target: "a.service", Desired: State{Present: true, Enabled: "enabled"}}
	must(t, l.RecordPresent(t.Context(), "system", []Change{enabled}))
	unit.now.Active = "active"
	_, err := l.Undo(t.Context())
	must(t, err)
	if unit.restored.Active != "" || unit.restored.Enabled != "enabled" {
		t.Errorf("restored %+v", unit.restored)
	}
}

// fakeUnits is a driver of a unit that records the state to which it is restored.
type fakeUnits struct{ now, restored State }

func (u *fakeUnits) Get(context.Context, Change) (State, error) { return u.now, nil }

func (u *fakeUnits) Set(context.Context, Change, State) error { return nil }

func (u *fakeUnits) Restore(_ context.Context, _ Change, before State) error {
	u.restored = before
	return nil
}

// A run that records is interrupted at any byte. Its records are void afterwards, or it is repeated.
func TestRecordMadeInterrupted(t *testing.T) {
	useTmpfs(t)
	root, dir := populate(t), t.TempDir()
	before := snapshot(t, root)
	made := madeChanges(t, root)
	as := snapshot(t, root)
	record := func(l *Ledger) {
		t.Helper()
		must(t, l.RecordMade("files", made[:1]))
		must(t, l.RecordMade("system", made[1:]))
	}
	l := open(t, dir, root)
	record(l)
	must(t, l.Close())
	log, err := os.ReadFile(filepath.Join(dir, logName))
	must(t, err)
	for cut := range len(log) + 1 {
		when := fmt.Sprintf("log cut at %d of %d", cut, len(log))
		g := workDir{root: copyTree(t, root), dir: copyTree(t, dir)}
		must(t, os.WriteFile(filepath.Join(g.dir, logName), log[:cut], 0o600))
		l := open(t, g.dir, g.root)
		must(t, l.Forget())
		if items := l.Items(); len(items) > 0 {
			t.Fatalf("%s: %v are recorded after Forget", when, items)
		}
		if outcome, err := l.Undo(t.Context()); err != nil || len(outcome.Restored)+len(outcome.Kept) > 0 {
			t.Fatalf("%s: undo after Forget: %+v, %v", when, outcome, err)
		}
		if diff := cmp.Diff(as, snapshot(t, g.root)); diff != "" {
			t.Fatalf("%s: Forget has changed (-want +got):\n%s", when, diff)
		}
		record(l)
		_, err := l.Undo(t.Context())
		must(t, err)
		must(t, os.Remove(filepath.Join(g.root, "etc/made")))
		if diff := cmp.Diff(before, snapshot(t, g.root)); diff != "" {
			t.Fatalf("%s: recorded again and undone (-want +got):\n%s", when, diff)
		}
		must(t, l.Remove())
		must(t, l.Close())
	}
}
