// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"os"
	"path/filepath"
	"testing"
)

// An object that an interrupted run has not changed yet is not drift. An object of an earlier run is, even if
// another process has restored its original state.
func TestPendingChangesAreNoDrift(t *testing.T) {
	root := populate(t)
	l := open(t, t.TempDir(), root)
	change := func(target string) Change {
		return Change{Kind: File, Target: target, Desired: ownedByTest(FileState([]byte("desired\n"), 0o644))}
	}
	checkDrift := func(when string, want int) {
		t.Helper()
		if drift, err := l.Drift(t.Context()); err != nil || len(drift) != want {
			t.Errorf("%s: drift %v, %v; want %d", when, drift, err, want)
		}
	}
	interrupt := func(c Change, before State) { // after the intent is recorded
		t.Helper()
		must(t, l.append(record{Type: intent, Step: "files", Entries: []entry{{Change: c, Before: before}}}, true))
	}

	pending := change("/etc/pending")
	interrupt(pending, State{})
	checkDrift("interrupted before the first change", 0)
	must(t, os.WriteFile(filepath.Join(root, "etc/pending"), []byte("foreign\n"), 0o600))
	checkDrift("created by another process", 1)
	must(t, os.Remove(filepath.Join(root, "etc/pending")))

	earlier := change("/etc/earlier")
	_, err := l.Apply(t.Context(), "files", []Change{earlier})
	must(t, err)
	must(t, os.Remove(filepath.Join(root, "etc/earlier")))
	checkDrift("removed after the join", 1)
	interrupt(earlier, State{})
	checkDrift("a repeated join was interrupted", 1)
}
