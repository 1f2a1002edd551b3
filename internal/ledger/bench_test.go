package ledger

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// oneByOne is the driver of paths without its gift of making many at once: two
// barriers for each file instead of two for all.
type oneByOne struct{ paths *Paths }

func (d oneByOne) Look(ctx context.Context, c Change) (State, error) { return d.paths.Look(ctx, c) }

func (d oneByOne) Make(ctx context.Context, c Change, now State) error {
	return d.paths.Make(ctx, c, now)
}

func (d oneByOne) Restore(ctx context.Context, c Change, before State) error {
	return d.paths.Restore(ctx, c, before)
}

func (d oneByOne) Complete(changes []Change) ([]Change, error) { return d.paths.Complete(changes) }

// BenchmarkApply writes the 100 files of a payload through the ledger, all
// durable, at once and one by one; "times-batched" is how much longer the
// second takes.
func BenchmarkApply(b *testing.B) {
	var batched time.Duration
	for _, way := range []string{"batched", "one-by-one"} {
		b.Run(way, func(b *testing.B) {
			tree, err := host.OpenTree(b.TempDir())
			if err != nil {
				b.Fatal(err)
			}
			defer tree.Close()
			paths := &Paths{Tree: tree}
			var driver Driver = paths
			if way == "one-by-one" {
				driver = oneByOne{paths}
			}
			l, err := Open(b.TempDir(), map[Kind]Driver{File: driver, Directory: driver})
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			rounds := 0
			for b.Loop() {
				if made, err := l.Apply(b.Context(), "files", hundredFiles(rounds)); err != nil || len(made) < 100 {
					b.Fatalf("%d changes, %v", len(made), err)
				}
				rounds++
			}
			each := b.Elapsed() / time.Duration(rounds)
			b.ReportMetric(each.Seconds()*1e6/100, "us/file")
			if way == "batched" {
				batched = each
			} else if batched > 0 {
				b.ReportMetric(float64(each)/float64(batched), "times-batched")
			}
		})
	}
}

// hundredFiles are 100 files of 4 kB that are not there yet, in one directory.
func hundredFiles(round int) []Change {
	changes := make([]Change, 0, 100)
	for i := range 100 {
		content := bytes.Repeat(fmt.Appendf(nil, "%07d\n", i), 512)
		changes = append(changes, Change{
			Kind: File, Target: fmt.Sprintf("/etc/round-%d/file-%d", round, i), Want: own(FileState(content, 0o644)),
		})
	}
	return changes
}
