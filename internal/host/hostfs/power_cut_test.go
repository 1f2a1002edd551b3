// SPDX-License-Identifier: Apache-2.0

//go:build faults

package hostfs

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/test/lossydisk"
	"github.com/hcp-node-agent/hcp-node-agent/test/seeds"
)

// buildTestDirectory builds a directory with files of several blocks that are not synced, like unpacked packages.
func buildTestDirectory(name string) error {
	return BuildDirectory(name, func(dir string) error {
		var errs []error
		for n := range 20 {
			sub := filepath.Join(dir, fmt.Sprintf("sub-%d", n%3))
			errs = append(errs, os.MkdirAll(sub, 0o700),
				os.WriteFile(filepath.Join(sub, fmt.Sprintf("file-%d", n)), []byte(strings.Repeat("content\n", 100*n)), 0o600))
		}
		return errors.Join(errs...)
	})
}

// contents returns a directory as names does, with "" for the directory itself, without those of another program and
// what an interrupted run left. It returns nil if the directory does not exist.
func contents(t *testing.T, dir string) []string {
	t.Helper()
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return slices.DeleteFunc(append([]string{""}, names(t, dir)...), func(line string) bool {
		name, _, _ := strings.Cut(line, "=")
		isPart := func(element string) bool { return strings.HasSuffix(element, partSuffix) }
		return slices.ContainsFunc(strings.Split(name, "/"), isPart) ||
			strings.HasPrefix(filepath.Base(name), ".hcp-node-agent.")
	})
}

// Each function that writes or removes the agent's own files is durable when it returns. A power cut before that, on
// a disk that loses and reorders writes since its last flush, leaves the state before or after it.
func TestOwnFilesSurvivePowerCuts(t *testing.T) {
	steps := []struct {
		name string
		run  func(dir string) error
	}{
		{"write", func(dir string) error { return WritePrivate(dir, "file", []byte(strings.Repeat("first", 5000))) }},
		{"replace", func(dir string) error { return WriteReadable(dir, "file", []byte("second")) }},
		{"build", func(dir string) error { return buildTestDirectory(filepath.Join(dir, "parent", "built")) }},
		{"remove", func(dir string) error { return RemoveSynced(filepath.Join(dir, "file")) }},
		{"remove directory", func(dir string) error { return RemoveSynced(filepath.Join(dir, "parent", "built")) }},
		{"build again", func(dir string) error { return buildTestDirectory(filepath.Join(dir, "parent", "built")) }},
	}
	lossydisk.Run(t, 2, func(t *testing.T, random *rand.Rand) {
		r := lossydisk.Format(t, lossydisk.RandomFileSystem(random)).Record(t)
		agentDir := func(points []string) string { return filepath.Join(points[0], "lib", "agent") }
		if random.IntN(3) > 0 {
			defer r.OtherProgram(t, random)()
		}
		positions, states := []int{r.Position(t)}, [][]string{nil}
		for _, step := range steps {
			if err := step.run(agentDir(r.Points)); err != nil {
				t.Fatalf("%s: %v", step.name, err)
			}
			positions, states = append(positions, r.Position(t)), append(states, contents(t, agentDir(r.Points)))
		}
		for range seeds.Number(t, "CUTS", 10) {
			n := random.IntN(len(steps))
			position := lossydisk.RandomPosition(random, positions[n], positions[n+1])
			name := fmt.Sprintf("%s cut at %d of %d to %d", steps[n].name, position, positions[n], positions[n+1])
			t.Run(name, func(t *testing.T) {
				dir := agentDir(r.Cut(t, random, position).Mount(t))
				now := contents(t, dir)
				diff := cmp.Diff(states[n], now)
				if diff != "" && (position == positions[n] || !isBetween(now, states[n], states[n+1])) {
					t.Errorf("(-state before, +after the power cut):\n%s", diff)
				}
				if err := steps[n].run(dir); err != nil && !errors.Is(err, fs.ErrExist) {
					t.Errorf("run again: %v", err)
				}
				if diff := cmp.Diff(states[n+1], contents(t, dir)); diff != "" {
					t.Errorf("run again (-want +got):\n%s", diff)
				}
			})
		}
	})
}

// isBetween reports whether each path has its state before or after a step. A directory that the step builds must be
// complete. One that it removes need not be.
func isBetween(now, before, after []string) bool {
	for _, line := range now {
		isNew := !slices.Contains(before, line)
		if isNew && !slices.Contains(after, line) {
			return false
		}
		if isNew && strings.HasPrefix(line, "/parent/built") {
			return slices.Equal(now, after)
		}
	}
	isLost := func(line string) bool { return slices.Contains(after, line) && !slices.Contains(now, line) }
	return !slices.ContainsFunc(before, isLost)
}
