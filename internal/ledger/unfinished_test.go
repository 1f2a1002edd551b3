package ledger

import (
	"path/filepath"
	"testing"
)

// An external change is never unfinished. An interrupted change is unfinished until a later
// run has settled it.
func TestUnfinished(t *testing.T) {
	dir, root := t.TempDir(), t.TempDir()
	l := open(t, dir, root)
	change := Change{Kind: File, Target: "/a", Reason: "test", Desired: ownedByTest(FileState([]byte("new"), 0o600))}
	if _, err := l.TrackExternal(t.Context(), "kubelet", Change{Kind: Contents, Target: "/b"}); err != nil {
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
	summary := l.Summary()
	if len(summary) != 2 || summary[1].Target != "/a" || summary[1].Step != "again" || summary[1].Reason != "test" || !summary[1].Done || summary[0].Done || !summary[1].ChangedAt.After(summary[0].ChangedAt) {
		t.Errorf("%+v", summary)
	}
}

func TestIsLocked(t *testing.T) {
	dir := t.TempDir()
	if locked, err := IsLocked(filepath.Join(dir, "none")); locked || err != nil {
		t.Errorf("without a ledger: %t, %v", locked, err)
	}
	l, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if locked, err := IsLocked(dir); !locked || err != nil {
		t.Errorf("while it is open: %t, %v", locked, err)
	}
	l.Close()
	for range 2 { // Locked releases the lock
		if locked, err := IsLocked(dir); locked || err != nil {
			t.Errorf("after it was closed: %t, %v", locked, err)
		}
	}
	if l, err = Open(dir, nil); err != nil {
		t.Fatal(err)
	}
	l.Close()
}
