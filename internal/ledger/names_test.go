package ledger

import (
	"os"
	"path/filepath"
	"testing"
)

// A run that changes nothing writes nothing.
func TestNothingIsWrittenBeforeFirstIntent(t *testing.T) {
	root, dir := populate(t), t.TempDir()
	l := open(t, dir, root)
	same := Change{Kind: File, Target: "/etc/same", Desired: State{Present: true, Digest: digest([]byte("same\n"))}}
	if made, err := l.Apply(t.Context(), "files", []Change{same}); err != nil || len(made) > 0 {
		t.Fatalf("made %v, %v", made, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "ledger.log")); err != nil || info.Size() > 0 {
		t.Errorf("the ledger holds %d bytes, %v", info.Size(), err)
	}
	must(t, l.Discard())
}

// The directory entries of the ledger are known to be durable only after a "done" record.
// An intent alone can be of a run that was killed before the sync.
func TestNamesAreSyncedUntilDoneRecord(t *testing.T) {
	root, dir := populate(t), t.TempDir()
	l := open(t, dir, root)
	must(t, l.append(record{Type: intent, Step: "files"}, false)) // killed before the sync
	must(t, l.Close())
	l = open(t, dir, root)
	if l.namesSynced || len(l.records) != 2 {
		t.Fatalf("named %t after %d records", l.namesSynced, len(l.records))
	}
	_, err := l.Apply(t.Context(), "files", testChanges())
	must(t, err)
	if !l.namesSynced {
		t.Error("something was made before the names were synced")
	}
	must(t, l.Close())
	if l = open(t, dir, root); !l.namesSynced {
		t.Error("the names would be synced again and again")
	}
}
