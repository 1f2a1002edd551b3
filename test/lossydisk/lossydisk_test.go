// SPDX-License-Identifier: Apache-2.0

//go:build faults

package lossydisk

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// A disk keeps what was synced, and loses what was not. Both occur in the cuts of one recording.
func TestSyncedFilesSurvive(t *testing.T) {
	Run(t, 2, func(t *testing.T, random *rand.Rand) {
		r := Format(t, RandomFileSystem(random)).Record(t)
		synced, lost := filepath.Join(r.Points[0], "synced"), filepath.Join(r.Points[0], "lost")
		before := r.Position(t)
		must(t, os.WriteFile(synced, []byte("content"), 0o600))
		must(t, Sync(r.Points))
		marked := r.Position(t)
		must(t, os.WriteFile(lost, []byte("content"), 0o600))
		must(t, Sync(r.Points))
		end := r.Position(t)
		states := map[string]int{}
		for range 20 {
			position := RandomPosition(random, before, end)
			points := r.Cut(t, random, position).Mount(t)
			for _, name := range []string{"synced", "lost"} {
				content, err := os.ReadFile(filepath.Join(points[0], name))
				if err == nil && string(content) == "content" {
					states[name]++
				} else if name == "synced" && position >= marked {
					t.Errorf("a cut at %d of %d, after the sync at %d, lost it: %q, %v", position, end, marked, content, err)
				}
			}
		}
		if states["synced"] == 0 || states["synced"] <= states["lost"] || states["lost"] == 20 {
			t.Errorf("of 20 cuts, files survived: %v", states)
		}
		t.Log(states)
	})
}
