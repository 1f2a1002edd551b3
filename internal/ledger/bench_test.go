// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

// openBenchLedger opens a ledger for an empty tree with the driver of paths.
func openBenchLedger(b *testing.B) *Ledger {
	b.Helper()
	tree, err := hostfs.OpenTree(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	l, err := Open(b.TempDir(), Drivers{Paths: &Paths{Tree: tree}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close(); tree.Close() })
	return l
}

// BenchmarkApply creates n new files durably, then replaces their content (each original is
// saved), then undoes both.
func BenchmarkApply(b *testing.B) {
	for _, n := range []int{54, 540, 5400} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			rounds := 0
			for b.Loop() {
				b.StopTimer()
				l := openBenchLedger(b)
				b.StartTimer()
				apply(b, l, manyFiles(n, 0), n)
				rounds++
			}
			reportPerFile(b, n, rounds)
		})
		b.Run(strconv.Itoa(n)+"/replacing", func(b *testing.B) {
			rounds := 0
			for b.Loop() {
				b.StopTimer()
				l := openBenchLedger(b)
				apply(b, l, manyFiles(n, 0), n)
				b.StartTimer()
				apply(b, l, manyFiles(n, 1), n)
				rounds++
			}
			reportPerFile(b, n, rounds)
		})
		b.Run(strconv.Itoa(n)+"/undo", func(b *testing.B) {
			rounds := 0
			for b.Loop() {
				b.StopTimer()
				l := openBenchLedger(b)
				apply(b, l, manyFiles(n, 0), n)
				b.StartTimer()
				if _, err := l.Undo(b.Context()); err != nil {
					b.Fatal(err)
				}
				rounds++
			}
			reportPerFile(b, n, rounds)
		})
	}
}

// BenchmarkApplyNothing measures a second run that has nothing to change.
func BenchmarkApplyNothing(b *testing.B) {
	for _, n := range []int{54, 540, 5400} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			l := openBenchLedger(b)
			changes := manyFiles(n, 0)
			apply(b, l, changes, n)
			before := memoryKiB(b, "VmRSS:")
			rounds := 0
			for b.Loop() {
				apply(b, l, changes, 0)
				rounds++
			}
			b.ReportMetric(float64(memoryKiB(b, "VmHWM:")-before)/1024, "MiB-peak")
			reportPerFile(b, n, rounds)
		})
	}
}

func apply(b *testing.B, l *Ledger, changes []Change, want int) {
	b.Helper()
	if made, err := l.Apply(b.Context(), "files", changes); err != nil || len(made) < want ||
		(want == 0 && len(made) > 0) {
		b.Fatalf("%d changes, %v", len(made), err)
	}
}

func reportPerFile(b *testing.B, n, rounds int) {
	b.Helper()
	b.ReportMetric(b.Elapsed().Seconds()*1e6/float64(n*rounds), "us/file")
}

// manyFiles returns n files of 5 kB in 20 directories.
func manyFiles(n, version int) []Change {
	changes := make([]Change, 0, n)
	for i := range n {
		content := bytes.Repeat(fmt.Appendf(nil, "%03d%06d\n", version, i), 500)
		changes = append(changes, Change{
			Kind: File, Target: fmt.Sprintf("/etc/directory-%d/file-%d", i%20, i),
			Desired: ownedByTest(FileState(content, 0o644)),
		})
	}
	return changes
}

// memoryKiB returns one of the memory figures of this process in KiB, and resets the peak to
// the current usage.
func memoryKiB(b *testing.B, name string) int64 {
	b.Helper()
	if name == "VmRSS:" {
		runtime.GC()
		// If this fails, the peak covers the whole process.
		_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == name {
			value, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				b.Fatal(err)
			}
			return value
		}
	}
	return 0
}
