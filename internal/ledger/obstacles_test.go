// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func TestObstacles(t *testing.T) {
	is := func(kind hostfs.FileType) State { return observedState(kind, "/x", 0o755, 0) }
	there := State{Present: true}
	for name, test := range map[string]struct {
		pending []PlannedChange
		inside  map[string][]string
		want    []string
	}{
		"nothing in the way": {[]PlannedChange{{Change{Kind: File, Target: "/a", Desired: there}, State{}}}, nil, nil},
		"a file over a link": {[]PlannedChange{{Change{Kind: File, Target: "/a", Desired: there}, is("link")}}, nil, nil},
		"a link over a file": {[]PlannedChange{{Change{Kind: Symlink, Target: "/a", Desired: there}, is("file")}}, nil, nil},
		"a file over a directory": {
			[]PlannedChange{{Change{Kind: File, Target: "/a", Desired: there}, is("directory")}},
			nil,
			[]string{"/a must be a file, but is a directory"},
		},
		"a link over a directory": {
			[]PlannedChange{{Change{Kind: Symlink, Target: "/a", Desired: there}, is("directory")}},
			nil,
			[]string{"/a must be a link, but is a directory"},
		},
		"a directory over a file": {
			[]PlannedChange{{Change{Kind: Directory, Target: "/a", Desired: there}, is("file")}},
			nil,
			[]string{"/a must be a directory, but is a file"},
		},
		"over a socket": {
			[]PlannedChange{{Change{Kind: File, Target: "/a", Desired: there}, is("special file")}},
			nil,
			[]string{"/a is a special file, which cannot be restored"},
		},
		"a socket is removed": {
			[]PlannedChange{{Change{Kind: File, Target: "/a"}, is("special file")}},
			nil,
			[]string{"/a is a special file, which cannot be restored"},
		},
		"an empty directory goes": {[]PlannedChange{{Change{Kind: Directory, Target: "/a"}, is("directory")}}, nil, nil},
		"a directory that is full": {
			[]PlannedChange{{Change{Kind: Directory, Target: "/a"}, is("directory")}},
			map[string][]string{"/a": {"b"}},
			[]string{"directory /a must be removed, but contains /a/b"},
		},
		"a tree goes": {[]PlannedChange{
			{Change{Kind: File, Target: "/a/b/"}, is("file")}, {Change{Kind: Directory, Target: "/a"}, is("directory")},
		}, map[string][]string{"/a": {"b"}}, nil},
		"a tree goes in the wrong order": {[]PlannedChange{
			{Change{Kind: Directory, Target: "/a"}, is("directory")}, {Change{Kind: File, Target: "/a/b"}, is("file")},
		}, map[string][]string{"/a": {"b"}}, []string{"directory /a must be removed, but contains /a/b"}},
		"what is no path": {[]PlannedChange{{Change{Kind: Unit, Target: "a.service"}, State{Present: true}}}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, obstacles(test.pending, test.inside)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestObstacleErrorIsLimited(t *testing.T) {
	var found []string
	for i := range 8 {
		found = append(found, fmt.Sprintf("<%d>", i))
	}
	err := obstacleError(found)
	if err == nil || !strings.HasSuffix(err.Error(), "<3>; <4>; and 3 more") || report.CodeOf(err) != report.Failed ||
		report.RemedyOf(err) == "" {
		t.Errorf("%v, code %d, remedy %q", err, report.CodeOf(err), report.RemedyOf(err))
	}
	if err := obstacleError(found[:5]); !strings.HasSuffix(err.Error(), "<4>") {
		t.Error(err)
	}
}

// An obstacle is found before the first change, even if it only affects the last change.
func TestObstacleIsFoundBeforeFirstChange(t *testing.T) {
	root, dir := populate(t), t.TempDir()
	must(t, unix.Mkfifo(filepath.Join(root, "etc/fifo"), 0o600))
	before := snapshot(t, root)
	l := open(t, dir, root)
	for name, change := range map[string]Change{
		"a directory":            {Kind: File, Target: "/srv", Desired: ownedByTest(FileState(nil, 0o600))},
		"a file for a parent":    {Kind: File, Target: "/etc/same/below", Desired: ownedByTest(FileState(nil, 0o600))},
		"a link for a directory": {Kind: Directory, Target: "/etc/was-link", Desired: ownedByTest(DirectoryState(0o755))},
		"a full directory":       {Kind: Directory, Target: "/etc"},
		"a fifo":                 {Kind: File, Target: "/etc/fifo"},
	} {
		changes := []Change{
			{Kind: File, Target: "/etc/unwanted"},
			{Kind: File, Target: "/etc/new", Desired: ownedByTest(FileState(nil, 0o600))},
			change,
		}
		_, err := l.Apply(t.Context(), "files", changes)
		if err == nil || !strings.Contains(err.Error(), "nothing was changed") {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(before, snapshot(t, root)); diff != "" {
			t.Errorf("%s (-before +after):\n%s", name, diff)
		}
	}
	if items := l.Items(); len(items) > 0 {
		t.Errorf("the ledger holds %v", items)
	}
}

// One path that had three kinds in three runs is one item for each kind.
func TestPathWithSeveralKindsHasSeparateItems(t *testing.T) {
	for _, first := range []Change{
		{Kind: File, Target: "/etc/same", Desired: ownedByTest(FileState([]byte("1"), 0o600))},
		{Kind: Symlink, Target: "/etc/same", Desired: State{Present: true, Link: "1"}},
	} {
		root, dir := populate(t), t.TempDir()
		before := snapshot(t, root)
		l := open(t, dir, root)
		for _, changes := range [][]Change{
			{first},
			{{Kind: Symlink, Target: "/etc/same", Desired: State{Present: true, Link: "2"}}},
			{
				{Kind: File, Target: "/etc/same"},
				{Kind: Directory, Target: "/etc/same", Desired: ownedByTest(DirectoryState(0o750))},
				{Kind: File, Target: "/etc/same/f", Desired: ownedByTest(FileState(nil, 0o600))},
			},
			{
				{Kind: File, Target: "/etc/same/f"},
				{Kind: Directory, Target: "/etc/same"},
				{Kind: File, Target: "/etc/same", Desired: ownedByTest(FileState([]byte("3"), 0o600))},
			},
			{{Kind: HardLink, Target: "/etc/same", Desired: State{Present: true, Link: "/etc/replaced"}}},
			{{Kind: Symlink, Target: "/etc/same", Desired: State{Present: true, Link: "4"}}},
		} {
			if made, err := l.Apply(t.Context(), "files", changes); err != nil || len(made) == 0 {
				t.Fatalf("%v: made %v, %v", changes, made, err)
			}
			if made, err := l.Apply(t.Context(), "files", changes); err != nil || len(made) != 0 {
				t.Fatalf("%v again: made %v, %v", changes, made, err)
			}
		}
		outcome, err := l.Undo(t.Context())
		if err != nil || len(outcome.Kept) > 0 {
			t.Fatalf("kept %v, %v", outcome.Kept, err)
		}
		if diff := cmp.Diff(before, snapshot(t, root)); diff != "" {
			t.Errorf("(-before +after):\n%s", diff)
		}
	}
}

// Every file type can replace every other type, and the undo restores it.
func TestFileTypesReplaceEachOther(t *testing.T) {
	creators := map[string]func(string) error{
		"nothing":   func(string) error { return nil },
		"file":      func(p string) error { return os.WriteFile(p, []byte("was"), 0o640) }, //nolint:gosec // as on a host
		"link":      func(p string) error { return os.Symlink("/was", p) },
		"directory": func(p string) error { return os.Mkdir(p, 0o750) },
	}
	changes := map[string]Change{
		"file":      {Kind: File, Target: "/x", Desired: ownedByTest(FileState([]byte("is"), 0o600))},
		"link":      {Kind: Symlink, Target: "/x", Desired: State{Present: true, Link: "/is"}},
		"directory": {Kind: Directory, Target: "/x", Desired: ownedByTest(DirectoryState(0o700))},
		"hard link": {Kind: HardLink, Target: "/x", Desired: State{Present: true, Link: "/other"}},
		"nothing":   {Kind: File, Target: "/x"},
	}
	for from, prepare := range creators {
		for to, change := range changes {
			t.Run(from+" to "+to, func(t *testing.T) {
				root, dir := t.TempDir(), t.TempDir()
				must(t, os.WriteFile(filepath.Join(root, "other"), []byte("other"), 0o600))
				must(t, prepare(filepath.Join(root, "x")))
				before := snapshot(t, root)
				l := open(t, dir, root)
				changes := []Change{change}
				switch {
				case from == "directory":
					changes = []Change{{Kind: Directory, Target: "/x"}, change}
				case from != "nothing" && to == "directory":
					changes = []Change{{Kind: File, Target: "/x"}, change}
				}
				if from == "directory" && to == "directory" {
					changes = []Change{change}
				}
				_, err := l.Apply(t.Context(), "files", changes)
				must(t, err)
				if again, err := l.Apply(t.Context(), "files", changes); err != nil || len(again) > 0 {
					t.Errorf("again: %v, %v", again, err)
				}
				if from != to && cmp.Equal(before, snapshot(t, root)) {
					t.Error("nothing was changed")
				}
				outcome, err := l.Undo(t.Context())
				if err != nil || len(outcome.Kept) > 0 {
					t.Fatalf("kept %v, %v", outcome.Kept, err)
				}
				if diff := cmp.Diff(before, snapshot(t, root)); diff != "" {
					t.Errorf("(-before +after):\n%s", diff)
				}
			})
		}
	}
}

// The ledger's own directory can be inside the root.
func TestLedgerDirectoryInsideRoot(t *testing.T) {
	for _, end := range []string{"discard", "forget"} {
		root := populate(t)
		before := snapshot(t, root)
		l0 := open(t, t.TempDir(), root)
		tree := l0.drivers.Paths.Tree
		private, err := tree.PrivateDir("/.record")
		must(t, err)
		defer private.Close()
		l, err := Open(fmt.Sprintf("/proc/self/fd/%d", private.Fd()), l0.drivers)
		must(t, err)
		_, err = l.Apply(t.Context(), "apply", testChanges())
		must(t, err)
		if end == "forget" {
			_, err = l.Undo(t.Context())
			must(t, err)
			must(t, l.Remove())
		} else {
			must(t, l.Discard())
		}
		if err := l.append(record{Type: done}, true); !errors.Is(err, errRemoved) {
			t.Errorf("%s: writing goes on: %v", end, err)
		}
		must(t, l.Close())
		must(t, tree.Remove("/.record"))
		after := snapshot(t, root)
		if end == "forget" != cmp.Equal(before, after) {
			t.Errorf("%s: the tree is %q", end, after)
		}
	}
}

// An undo does not remove an object of another type that appeared at the path after the
// state was read.
func TestUndoKeepsNewerObjectOfOtherType(t *testing.T) {
	root := populate(t)
	before := snapshot(t, root)
	l := open(t, t.TempDir(), root)
	for _, c := range []Change{
		{Kind: Directory, Target: "/etc/same"},
		{Kind: File, Target: "/srv"},
		{Kind: Symlink, Target: "/srv"},
	} {
		if err := l.drivers.Paths.Restore(t.Context(), c, State{}); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff(before, snapshot(t, root)); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}
