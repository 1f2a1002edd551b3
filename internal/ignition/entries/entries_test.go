// SPDX-License-Identifier: Apache-2.0

package entries

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// scenario is a config on a tree, with the expected changes and the tree after them.
type scenario struct {
	tree        string
	config      string
	runningHost bool
	want        []string
	after       string

	enabled []string // the units that systemctl reports as enabled

	secondRunError string // error of a second run, in which Ignition fails, too
	undoneTree     string // the tree after an undo, if it differs from the original
}

// check also applies the changes, decides again (no change may remain) and undoes all changes.
func (c scenario) check(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	ctx := context.Background()
	tree, root := newTree(t, c.tree)
	before := listing(t, root)
	changes, err := c.changes(t, tree)
	must(t, err)
	if diff := cmp.Diff(c.want, formatChanges(changes)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	l := openLedger(t, tree)
	_, err = l.Apply(ctx, "entries", changes)
	must(t, err)
	if diff := cmp.Diff(trimmedLines(c.after), trimmedLines(listing(t, root))); diff != "" {
		t.Errorf("tree after it (-want +got):\n%s", diff)
	}
	again, err := c.changes(t, tree)
	if c.secondRunError == "" {
		must(t, err)
	} else if err == nil || !strings.Contains(err.Error(), c.secondRunError) {
		t.Errorf("a second run says %v, want %q", err, c.secondRunError)
	}
	if left := pending(t, l, again); len(left) > 0 {
		t.Errorf("a second run would still change %q", left)
	}
	_, err = l.Undo(ctx)
	must(t, err)
	if c.undoneTree != "" {
		before = c.undoneTree
	}
	if diff := cmp.Diff(trimmedLines(before), trimmedLines(listing(t, root))); diff != "" {
		t.Errorf("tree after undo (-before +after):\n%s", diff)
	}
}

// changes returns all changes of the scenario. Those of the preset file of an image come last.
func (c scenario) changes(t *testing.T, tree *hostfs.Tree) ([]ledger.Change, error) {
	t.Helper()
	decision, err := Decide(inputOf(t, tree, c.config, !c.runningHost))
	if err != nil || c.runningHost {
		return changesOf(decision), err
	}
	preset, err := decision.Preset(func(unit string) (bool, error) { return slices.Contains(c.enabled, unit), nil })
	return slices.Concat(decision.Changes, preset), err
}

func changesOf(decision *Decision) []ledger.Change {
	if decision == nil {
		return nil
	}
	return decision.Changes
}

func TestFiles(t *testing.T) {
	for name, c := range map[string]scenario{
		"what is new has a parent, 0644 and root": {
			config: `{"storage":{"files":[{"path":"/etc/a/b","contents":{"source":"data:,x"}}]}}`,
			want:   []string{"file /etc/a/b 0644 u0 g0 =x"},
			after: `d /etc 0755 0:0
				d /etc/a 0755 0:0
				f /etc/a/b 0644 0:0 =x`,
		},
		"owner by name, setuid, and no source": {
			tree: `f /etc/passwd =bob:x:7:8::/:\n
				f /etc/group =bobs:x:9:\n`,
			config: `{"storage":{"files":[{"path":"/a","mode":2541,"user":{"name":"bob"},"group":{"name":"bobs"}}]}}`,
			want:   []string{"file /a 4755 u7 g9 ="},
			after: `d /etc 0755 0:0
				f /etc/passwd 0644 0:0 =bob:x:7:8::/:\n
				f /etc/group 0644 0:0 =bobs:x:9:\n
				f /a 4755 7:9 =`,
		},
		"the group of a directory with setgid is inherited": {
			tree:   `d /log 2775 0:5`,
			config: `{"storage":{"files":[{"path":"/log/a/b","contents":{"source":"data:,x"}}],"directories":[{"path":"/log/c"}]}}`,
			want: []string{
				"directory /log/c 2755 u0 g5",
				"directory /log/a 2755 u0 g5",
				"file /log/a/b 0644 u0 g5 =x",
			},
			after: `d /log 2775 0:5
				d /log/a 2755 0:5
				f /log/a/b 0644 0:5 =x
				d /log/c 2755 0:5`,
		},
		"without source the content stays, and so do mode and owner, but not setuid": {
			tree: `f /a 4755 5:6 =old
				f /b 2644 5:6 =old
				f /c 0600 5:6 =old`,
			config: `{"storage":{"files":[{"path":"/a"},{"path":"/b"},{"path":"/c","mode":420,"user":{"id":7}}]}}`,
			want:   []string{"file /a 0755", "file /b", "file /c 0644 u7"},
			after: `f /a 0755 5:6 =old
				f /b 2644 5:6 =old
				f /c 0644 7:6 =old`,
		},
		"on a host that joins setuid stays": {
			runningHost: true,
			tree:        `f /a 4755 5:6 =old`,
			config:      `{"storage":{"files":[{"path":"/a"}]}}`,
			want:        []string{"file /a"},
			after:       `f /a 4755 5:6 =old`,
		},
		"overwrite gives a new file, also over a link and a tree": {
			tree: `f /a 0600 5:6 =old
				l /b 5:6 =a
				f /c/d/e 0600 5:6 =deep
				l /c/x 5:6 =/nowhere`,
			config: `{"storage":{"files":[
				{"path":"/a","overwrite":true,"contents":{"source":"data:,new"}},
				{"path":"/b","overwrite":true,"contents":{"source":""}},
				{"path":"/c","overwrite":true,"contents":{"source":"data:,new"}}]}}`,
			want: []string{
				"no file /c/d/e", "no directory /c/d", "no link /c/x", "no directory /c",
				"file /a 0644 u0 g0 =new", "file /b 0644 u0 g0 =", "file /c 0644 u0 g0 =new",
			},
			after: `f /a 0644 0:0 =new
				f /b 0644 0:0 =
				f /c 0644 0:0 =new`,
		},
		"an identical existing object is no obstacle": {
			tree:   `f /a 0600 5:6 =newmore`,
			config: `{"storage":{"files":[{"path":"/a","mode":384,"user":{"id":5},"group":{"id":6},"contents":{"source":"data:,new"},"append":[{"source":"data:,more"}]}]}}`,
			want:   []string{"file /a 0600 u5 g6 =newmore"},
			after:  `f /a 0600 5:6 =newmore`,
		},
		"appending keeps the rest, and is done once": {
			tree: `f /a 0600 5:6 =old
				f /b 0600 5:6 =old\nnew\n`,
			config: `{"storage":{"files":[
				{"path":"/a","append":[{"source":"data:,%0Anew"},{"source":"data:,%0A"}]},
				{"path":"/b","append":[{"source":"data:,new%0A"}]},
				{"path":"/c","append":[{"source":"data:,new"}]}]}}`,
			want: []string{`file /a 0600 u5 g6 =old\nnew\n`, "file /b", "file /c 0644 u0 g0 =new"},
			after: `f /a 0600 5:6 =old\nnew\n
				f /b 0600 5:6 =old\nnew\n
				f /c 0644 0:0 =new`,
		},
		"on a host that joins whole lines are appended once": {
			runningHost: true,
			tree: `f /a 0600 5:6 =one
				f /b =one\ntwo\nthree\n
				f /c =one two\nthree`,
			config: `{"storage":{"files":[
				{"path":"/a","append":[{"source":"data:,two%0A"}]},
				{"path":"/b","append":[{"source":"data:,two%0A"}]},
				{"path":"/c","append":[{"source":"data:,two%0Athree%0A"}]}]}}`,
			want: []string{`file /a 0600 u5 g6 =one\ntwo\n`, "file /b", `file /c 0644 u0 g0 =one two\nthree\ntwo\nthree\n`},
			after: `f /a 0600 5:6 =one\ntwo\n
				f /b 0644 0:0 =one\ntwo\nthree\n
				f /c 0644 0:0 =one two\nthree\ntwo\nthree\n`,
		},
		"on a host that joins files and links are replaced": {
			runningHost: true,
			tree: `f /a 4755 5:6 =old
				l /b =a`,
			config: `{"storage":{"files":[{"path":"/a","contents":{"source":"data:,new"}},{"path":"/b","contents":{"source":"data:,new"}}]}}`,
			want:   []string{"file /a 0644 u0 g0 =new", "file /b 0644 u0 g0 =new"},
			after: `f /a 0644 0:0 =new
				f /b 0644 0:0 =new`,
		},
		"links above a path are followed inside of the tree": {
			tree: `l /var/run =/run
				l /run =../../../../real
				d /real`,
			config: `{"storage":{"files":[{"path":"/var/run/a","contents":{"source":"data:,x"}}]}}`,
			want:   []string{"file /real/a 0644 u0 g0 =x"},
			after: `d /var 0755 0:0
				l /var/run 0:0 =/run
				l /run 0:0 =../../../../real
				d /real 0755 0:0
				f /real/a 0644 0:0 =x`,
		},
	} {
		t.Run(name, c.check)
	}
}
