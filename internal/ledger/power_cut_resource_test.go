// SPDX-License-Identifier: Apache-2.0

//go:build faults

package ledger

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/test/lossydisk"
	"github.com/hcp-node-agent/hcp-node-agent/test/seeds"
)

// bootEntry is a file that its driver changes as grubby does, by sed -i, which syncs nothing.
type bootEntry struct{ file string }

func (d bootEntry) Get(context.Context, Change) (State, error) {
	content, err := os.ReadFile(d.file)
	return State{Present: true, Value: strings.TrimSuffix(string(content), "\n")}, err
}

func (d bootEntry) Set(ctx context.Context, c Change, _ State) error {
	return exec.CommandContext(ctx, "sed", "-i", "s/.*/"+c.Desired.Value+"/", d.file).Run()
}

func (d bootEntry) Restore(ctx context.Context, _ Change, before State) error {
	return d.Set(ctx, Change{Desired: before}, State{})
}

// openWithBootEntry opens the ledger of a host, whose boot entry it changes.
func openWithBootEntry(t *testing.T, g workDir) *Ledger {
	t.Helper()
	tree, err := hostfs.OpenTree(g.root)
	must(t, err)
	l, err := Open(g.dir, Drivers{
		Paths:     &Paths{Tree: tree},
		Resources: map[Kind]Driver{KernelArguments: bootEntry{filepath.Join(g.root, "boot/entry")}},
	})
	must(t, err)
	t.Cleanup(func() { l.Close(); tree.Close() })
	return l
}

// The ledger is on another file system than the boot entry, and its records must not be durable before the entry is.
func TestResourcesSurvivePowerCuts(t *testing.T) {
	const original, changed = "options original", "options changed"
	change := Change{Kind: KernelArguments, Target: "boot", Desired: State{Present: true, Value: changed}}
	lossydisk.Run(t, 2, func(t *testing.T, random *rand.Rand) {
		disk := lossydisk.Format(t, lossydisk.RandomFileSystem(random), lossydisk.RandomFileSystem(random))
		r := disk.Record(t)
		place := func(points []string) workDir {
			return workDir{root: filepath.Join(points[0], "root"), dir: filepath.Join(points[1], "agent")}
		}
		g := place(r.Points)
		must(t, os.MkdirAll(filepath.Join(g.root, "boot"), 0o700))
		must(t, os.WriteFile(filepath.Join(g.root, "boot/entry"), []byte(original+"\n"), 0o600))
		must(t, lossydisk.Sync(r.Points))
		if random.IntN(3) > 0 {
			defer r.OtherProgram(t, random)()
		}
		l := openWithBootEntry(t, g)
		_, err := l.Apply(t.Context(), "system", []Change{change})
		must(t, err)
		applied := r.Position(t)
		outcome, err := l.Undo(t.Context())
		must(t, err)
		if len(outcome.Restored) != 1 {
			t.Fatalf("restored: %v", outcome)
		}
		undone := r.Position(t)
		for range seeds.Number(t, "CUTS", 10) {
			position := []int{applied, lossydisk.RandomPosition(random, applied, undone), undone}[random.IntN(3)]
			t.Run(fmt.Sprintf("cut at %d, applied at %d, undone at %d", position, applied, undone), func(t *testing.T) {
				g := place(r.Cut(t, random, position).Mount(t))
				l := openWithBootEntry(t, g)
				now, err := l.drivers.currentState(t.Context(), change)
				must(t, err)
				switch {
				case position == applied && (now.Value != changed || len(l.Unfinished()) > 0):
					t.Errorf("applied, but the entry is %q", now.Value)
				case len(l.Items()) == 0 && now.Value != original:
					t.Errorf("recorded as undone, but the entry is %q", now.Value)
				case position == undone && len(l.Items()) > 0:
					t.Errorf("the record of the undo was lost")
				}
			})
		}
	})
}
