// SPDX-License-Identifier: Apache-2.0

//go:build faults

package ledger

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// logOperation is one operation of a process on the log: a write or a sync.
type logOperation struct {
	data []byte
	sync bool
}

var logCall = regexp.MustCompile(`(write|fsync)\(\d+<[^>]*ledger\.log>(?:, "([\\x0-9a-f]*)", \d+)?\) += (\d+)`)

// logWrites runs a victim and returns its operations on the log.
func logWrites(t *testing.T, g workDir, verb string) []logOperation {
	t.Helper()
	trace := filepath.Join(t.TempDir(), "trace")
	command := g.command(t, verb, "strace", "-f", "--seccomp-bpf", "-qq", "-y", "-xx", "-s", "1000000", "-o", trace, "-e",
		"trace=write,fsync")
	if out, err := command.CombinedOutput(); err != nil || !strings.Contains(string(out), "complete") {
		t.Fatalf("%v: %s", err, out)
	}
	lines, err := os.ReadFile(trace)
	must(t, err)
	lines = bytes.ReplaceAll(lines, []byte(hexEncoded("ledger.log")), []byte("ledger.log"))
	var all []logOperation
	for _, call := range logCall.FindAllSubmatch(lines, -1) {
		data, err := hex.DecodeString(strings.ReplaceAll(string(call[2]), `\x`, ""))
		must(t, err)
		all = append(all, logOperation{data: data, sync: string(call[1]) == "fsync"})
	}
	return all
}

// hexEncoded returns text in the format of strace -xx.
func hexEncoded(text string) string {
	var out strings.Builder
	for _, b := range []byte(text) {
		fmt.Fprintf(&out, `\x%02x`, b)
	}
	return out.String()
}

const sector = 512

// afterPowerFailure returns a possible content of the log after a power failure: all durable data, and a
// random subset of the parts written since. An unwritten part is zeros, or is behind the
// end of the file.
func afterPowerFailure(random *rand.Rand, durable, since []byte, parts [][2]int) []byte {
	log := bytes.Clone(since)
	for _, part := range parts {
		if random.IntN(2) == 0 {
			clear(log[part[0]:part[1]])
		}
	}
	if random.IntN(2) == 0 {
		log = log[:random.IntN(len(log)+1)]
	}
	return append(bytes.Clone(durable), log...)
}

// splitUnsynced splits the data written since the last sync at disk sectors or at the writes.
func splitUnsynced(durable, since []byte, bySector bool, ends []int) [][2]int {
	var parts [][2]int
	for at := 0; at < len(since); {
		end := len(since)
		if bySector {
			end = min(end, at+sector-(len(durable)+at)%sector)
		} else {
			for _, e := range ends {
				if e > at {
					end = e
					break
				}
			}
		}
		parts = append(parts, [2]int{at, end})
		at = end
	}
	return parts
}

// Whatever subset of the unsynced writes survives, the ledger can be read with all synced
// records, and everything is restored.
func TestLogIsReadableAfterReorderedAndLostWrites(t *testing.T) {
	if os.Getenv(victimRoot) != "" {
		victim(t)
		return
	}
	requireRoot(t)
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace, which shows what is written, is not installed (Debian: apt-get install strace)")
	}
	useTmpfs(t)
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // no secret
	g := workDir{root: buildTree(t), dir: t.TempDir()}
	k := expectedStates{before: snapshot(t, g.root)}
	apply := logWrites(t, g, "apply")
	undo := logWrites(t, g, "undo")
	if len(apply) < 6 || len(undo) < 20 {
		t.Fatalf("%d and %d calls were seen", len(apply), len(undo))
	}
	var durable, since []byte
	var ends []int
	states, most := 0, 0
	for i, w := range append(apply, undo...) {
		if w.sync {
			durable, since, ends = append(durable, since...), nil, nil
			continue
		}
		since = append(since, w.data...)
		ends = append(ends, len(since))
		records, _, err := parse(durable)
		must(t, err)
		for n := range 400 {
			log := afterPowerFailure(random, durable, since, splitUnsynced(durable, since, n%2 == 0, ends))
			got, good, err := parse(log)
			if err != nil || len(got) < len(records) || good < len(durable) {
				t.Fatalf("call %d: %d of %d records, %v, of %q behind what is durable", i, len(got), len(records), err,
					log[len(durable):])
			}
			states++
			most = max(most, len(got)-len(records))
			if i < len(apply) || n > 2 {
				continue
			}
			undone := g.clone(t)
			must(t, os.WriteFile(filepath.Join(undone.dir, "ledger.log"), log, 0o600))
			k.checkUndo(t, open(t, undone.dir, undone.root), undone, fmt.Sprintf("call %d", i))
		}
	}
	if most < 5 {
		t.Errorf("at most %d records that were not synced survived", most)
	}
	t.Logf("%d states", states)
}
