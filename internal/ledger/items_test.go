// SPDX-License-Identifier: Apache-2.0

package ledger

import "testing"

// An external change is never unfinished. An interrupted change is unfinished until a later
// run has settled it.
func TestUnfinished(t *testing.T) {
	dir, root := t.TempDir(), t.TempDir()
	l := open(t, dir, root)
	change := Change{Kind: File, Target: "/a", Reason: "test", Desired: ownedByTest(FileState([]byte("new"), 0o600))}
	if _, err := l.TrackExternal(t.Context(), "kubelet", Change{Kind: File, Target: "/b"}); err != nil {
		t.Fatal(err)
	}
	if left := l.Unfinished(); len(left) > 0 {
		t.Errorf("what others make is left: %+v", left)
	}
	if _, err := l.recordIntent(record{Step: "files"}, []PlannedChange{{Change: change}}); err != nil {
		t.Fatal(err)
	}
	if left := l.Unfinished(); len(left) != 1 || left[0].Target != "/a" || left[0].Step != "files" {
		t.Errorf("after a kill: %+v", left)
	}
	if _, err := l.Apply(t.Context(), "again", []Change{change}); err != nil {
		t.Fatal(err)
	}
	if left := l.Unfinished(); len(left) > 0 {
		t.Errorf("after the next run: %+v", left)
	}
	items := l.Items()
	if len(items) != 2 || items[1].Target != "/a" || items[1].Step != "again" || items[1].Reason != "test" ||
		!items[1].Done || items[0].Done {
		t.Errorf("%+v", items)
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

// An object that is changed again after an undo is one item.
func TestItemsAfterUndoAndNewRun(t *testing.T) {
	l := open(t, t.TempDir(), t.TempDir())
	change := Change{Kind: File, Target: "/a", Desired: ownedByTest(FileState([]byte("new"), 0o600))}
	for _, step := range []string{"first", "second"} {
		if _, err := l.Apply(t.Context(), step, []Change{change}); err != nil {
			t.Fatal(err)
		}
		if items := l.Items(); len(items) != 1 || items[0].Step != step {
			t.Errorf("after the %s run: %+v", step, items)
		}
		if _, err := l.Undo(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
