// SPDX-License-Identifier: Apache-2.0

//go:build faults

package ledger

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/test/lossydisk"
	"github.com/hcp-node-agent/hcp-node-agent/test/seeds"
)

// hostLayout describes on which file systems a host has its files and its ledger.
type hostLayout struct {
	fileSystems []lossydisk.FileSystem
	ledgerLink  bool // the directory of the ledger is reached through a symbolic link to the last file system
	mountedOpt  bool // /opt is on the last file system
}

func randomLayout(random *rand.Rand) hostLayout {
	l := hostLayout{ledgerLink: random.IntN(2) == 0, mountedOpt: random.IntN(2) == 0}
	for range 1 + random.IntN(2) {
		l.fileSystems = append(l.fileSystems, lossydisk.RandomFileSystem(random))
	}
	return l
}

// open returns the directories of the host on mounted file systems.
func (l hostLayout) open(t *testing.T, points []string) workDir {
	t.Helper()
	last := points[len(points)-1]
	g := workDir{root: filepath.Join(points[0], "root"), dir: filepath.Join(last, "lib", "agent")}
	if l.ledgerLink {
		g.dir = filepath.Join(points[0], "link", "agent")
	}
	if l.mountedOpt {
		opt := filepath.Join(g.root, "opt")
		must(t, unix.Mount(filepath.Join(last, "opt"), opt, "", unix.MS_BIND, ""))
		t.Cleanup(func() { must(t, unix.Unmount(opt, 0)) })
	}
	return g
}

// create creates the directories and the files of a host durably.
func (l hostLayout) create(t *testing.T, points []string) workDir {
	t.Helper()
	last := points[len(points)-1]
	for _, dir := range []string{points[0] + "/root/opt", last + "/lib", last + "/opt"} {
		must(t, os.MkdirAll(dir, 0o755)) //nolint:gosec // as on a host
	}
	must(t, os.Symlink(filepath.Join("..", filepath.Base(last), "lib"), filepath.Join(points[0], "link")))
	g := l.open(t, points)
	buildTreeIn(t, g.root)
	must(t, lossydisk.Sync(points))
	return g
}

// operation is an operation of the ledger in the life of a node.
type operation struct {
	name string
	run  func(t *testing.T, g workDir)
}

func applyOperation(name string, changes []Change) operation {
	return operation{name: name, run: func(t *testing.T, g workDir) {
		t.Helper()
		l := open(t, g.dir, g.root)
		_, err := l.Apply(t.Context(), "files", changes)
		must(t, err)
		for _, item := range l.Items() {
			if !item.Done {
				t.Errorf("%s: %s is not done", name, item.Key())
			}
		}
		must(t, l.Close())
	}}
}

// operations returns a join, an upgrade, its rollback and a leave.
func operations() []operation {
	var second []Change
	for _, c := range treeChanges() {
		if c.Kind == File && len(c.Desired.Content) > 0 {
			c.Desired = c.Desired.WithContent(append([]byte("second "), c.Desired.Content...))
		}
		second = append(second, c)
	}
	second = append(second, Change{Kind: File, Target: "/etc/second/file", Desired: FileState([]byte("new\n"), 0o600)})
	return []operation{
		applyOperation("join", treeChanges()),
		applyOperation("upgrade", second),
		applyOperation("rollback", treeChanges()),
		{name: "leave", run: func(t *testing.T, g workDir) {
			t.Helper()
			l := open(t, g.dir, g.root)
			outcome, err := l.Undo(t.Context())
			if err != nil || len(outcome.Kept) > 0 {
				t.Fatalf("leave: kept %v, %v", outcome.Kept, err)
			}
			must(t, l.Remove())
			must(t, l.Close())
		}},
	}
}

// recordedOperation is a completed operation, with the states before and after, and the positions in the recording.
type recordedOperation struct {
	operation
	expectedStates
	first, last int
}

// A power cut at any time, on a disk that loses and reorders writes since its last flush, damages no file. What
// completed before it is durable. The operation can be repeated, and everything can be restored, also if the power is
// cut again meanwhile.
func TestLedgerSurvivesPowerCuts(t *testing.T) {
	lossydisk.Run(t, 2, func(t *testing.T, random *rand.Rand) {
		layout := randomLayout(random)
		t.Logf("%+v", layout)
		r := lossydisk.Format(t, layout.fileSystems...).Record(t)
		g := layout.create(t, r.Points)
		if random.IntN(3) > 0 {
			defer r.OtherProgram(t, random)()
		}
		var life []recordedOperation
		for _, o := range operations() {
			recorded := recordedOperation{operation: o, first: r.Position(t)}
			recorded.before = snapshot(t, g.root)
			o.run(t, g)
			recorded.last, recorded.after = r.Position(t), snapshot(t, g.root)
			life = append(life, recorded)
		}
		for range seeds.Number(t, "CUTS", 10) {
			o := life[random.IntN(len(life))]
			position := lossydisk.RandomPosition(random, o.first, o.last)
			if random.IntN(5) == 0 {
				position = o.first
			}
			t.Run(fmt.Sprintf("%s cut at %d of %d to %d", o.name, position, o.first, o.last), func(t *testing.T) {
				checkPowerCut(t, random, layout, r.Cut(t, random, position), o, position == o.first, life[0].before)
			})
		}
	})
}

// checkPowerCut checks a disk after a power cut during an operation, or before it, and recovers the host. In one of
// four cases, the power is cut again during the recovery.
func checkPowerCut(
	t *testing.T, random *rand.Rand, layout hostLayout, disk lossydisk.Image, o recordedOperation, isBefore bool,
	original []string,
) {
	t.Helper()
	var r *lossydisk.Recording
	var points []string
	if cutAgain := random.IntN(4) == 0; cutAgain {
		r = disk.Record(t)
		points = r.Points
	} else {
		points = disk.Mount(t)
	}
	g := layout.open(t, points)
	if isBefore {
		if diff := cmp.Diff(o.before, snapshot(t, g.root)); diff != "" {
			t.Fatalf("a completed operation was lost (-want +got):\n%s", diff)
		}
	} else {
		o.checkUndamaged(t, g, "after the power cut")
		o.checkUnchanged(t, g)
	}
	first := 0
	if r != nil {
		first = r.Position(t)
	}
	if random.IntN(2) == 0 {
		o.run(t, g)
		if diff := cmp.Diff(o.after, snapshot(t, g.root)); diff != "" {
			t.Fatalf("after the power cut, run again (-want +got):\n%s", diff)
		}
	}
	restored := expectedStates{before: original}
	restored.checkUndo(t, open(t, g.dir, g.root), g, "after the power cut, undone")
	if r == nil {
		return
	}
	position := lossydisk.RandomPosition(random, first, r.Position(t))
	g = layout.open(t, r.Cut(t, random, position).Mount(t))
	o.before = slices.Concat(o.before, original) // lines; the undo leads to them
	o.checkUndamaged(t, g, "after a second power cut")
	restored.checkUndo(t, open(t, g.dir, g.root), g, "after a second power cut, undone")
}

// checkUnchanged checks that nothing is lost that exists both before and after the operation.
func (k expectedStates) checkUnchanged(t *testing.T, g workDir) {
	t.Helper()
	now := snapshot(t, g.root)
	for _, line := range k.before {
		same := func(other string) bool { return comparablePart(other) == comparablePart(line) }
		if slices.ContainsFunc(k.after, same) && !slices.ContainsFunc(now, same) {
			t.Errorf("lost: %s", line)
		}
	}
}
