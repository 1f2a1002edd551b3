// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// A deployment is left, and the next one gets other files. After a rollback, the ledger describes the files of the
// first deployment, and those outside of /etc, which both share, as the second has left them.
func TestRewind(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, t.TempDir())
	apply := func(step, target, content string) {
		t.Helper()
		change := Change{Kind: File, Target: target, Desired: ownedByTest(FileState([]byte(content), 0o600))}
		if _, err := l.Apply(t.Context(), step, []Change{change}); err != nil {
			t.Fatal(err)
		}
	}
	apply("files", "/etc/changed", "first")
	apply("runtime", "/etc/reverted", "first")
	apply("files", "/etc/same", "both")
	apply("files", "/var/shared", "first")
	want, left := l.Items(), l.Position()

	apply("files", "/etc/changed", "second")
	apply("files", "/etc/added", "second")
	apply("files", "/var/shared", "second")
	if _, err := l.Revert(t.Context(), func(i Item) bool { return i.Target == "/etc/reverted" }); err != nil {
		t.Fatal(err)
	}
	shared := l.Items()

	isInEtc := func(i Item) bool { return strings.HasPrefix(i.Target, "/etc/") }
	for range 2 { // the second call follows an interruption after the first
		if err := l.Rewind(left, isInEtc); err != nil {
			t.Fatal(err)
		}
		got := map[string]Item{}
		for _, item := range l.Items() {
			got[item.Target] = item
		}
		expected := map[string]Item{}
		for _, item := range want {
			expected[item.Target] = item
		}
		for _, item := range shared {
			if item.Target == "/var/shared" {
				expected[item.Target] = item
			}
		}
		if diff := cmp.Diff(expected, got, cmpopts.IgnoreUnexported(Item{})); diff != "" {
			t.Errorf("items (-want +got):\n%s", diff)
		}
	}
	size := l.Position()
	if err := l.Rewind(left, isInEtc); err != nil || l.Position() != size {
		t.Errorf("another call added %d records: %v", l.Position()-size, err)
	}
}
