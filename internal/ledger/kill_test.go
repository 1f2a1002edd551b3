// SPDX-License-Identifier: Apache-2.0

//go:build faults

package ledger

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// killCalls returns the system calls at which a run is killed, with the minimum number of
// calls in a run. They change a tree or the ledger, or make it durable. chown is excluded,
// because nothing happens between the previous call and chown.
func killCalls() map[string]int {
	return map[string]int{
		"renameat": 10, "unlinkat": 15, "mkdirat": 3, "symlinkat": 3, "linkat": 0, "fchmod": 10, "lsetxattr": 0,
		"fsetxattr": 0,
		"fsync":     1, "syncfs": 3, "ftruncate": 0, "write": 15,
	}
}

func TestKillAtEverySystemCall(t *testing.T) {
	if os.Getenv(victimRoot) != "" {
		victim(t)
		return
	}
	requireRoot(t)
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace, which kills at a certain system call, is not installed (Debian: apt-get install strace)")
	}
	useTmpfs(t)
	for _, verb := range []string{"apply", "undo"} {
		k, start := newExpectedStates(t, verb)
		for call, atLeast := range killCalls() {
			t.Run(verb+" at "+call, func(t *testing.T) {
				t.Parallel() // strace takes most of the time
				n := 1
				for killAtCall(t, start, k, verb, call, n) {
					n++
				}
				if n-1 < atLeast {
					t.Errorf("killed only %d times", n-1)
				}
				t.Logf("killed at each of %d calls", n-1)
			})
		}
	}
}

// killAtCall kills a victim at its n-th call of one kind and checks the result. It reports
// whether the victim made that many calls.
func killAtCall(t *testing.T, start workDir, k expectedStates, verb, call string, n int) bool {
	t.Helper()
	g := start.clone(t)
	inject := fmt.Sprintf("inject=%s:signal=KILL:when=%d", call, n)
	out, err := g.command(t, verb, "strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace="+call, "-e",
		inject).CombinedOutput()
	if strings.Contains(string(out), "FAIL") || strings.Contains(string(out), "strace:") {
		t.Fatalf("%s, %s %d: %v\n%s", verb, call, n, err, out)
	}
	if strings.Contains(string(out), "complete") {
		return false
	}
	k.checkRecovery(t, g, verb, fmt.Sprintf("%s killed at its %s %d", verb, call, n))
	return true
}

func TestKillAtRandomTimes(t *testing.T) {
	if os.Getenv(victimRoot) != "" {
		victim(t)
		return
	}
	requireRoot(t)
	const times = 200
	useTmpfs(t)
	seed := uint64(time.Now().UnixNano()) //nolint:gosec // any number will do
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // no secret
	k, start := newExpectedStates(t, "apply")
	whole := time.Hour
	for range 5 { // the minimum, because the machine may be busy
		whole = min(whole, killAfter(t, start.clone(t), time.Hour))
	}
	early := 0
	for i := range times {
		g := start.clone(t)
		wait := time.Duration(random.Int64N(int64(whole)))
		if killAfter(t, g, wait) < 0 {
			early++
		}
		k.checkRecovery(t, g, "apply", fmt.Sprintf("kill %d of seed %d, after %s", i, seed, wait))
	}
	if early == 0 {
		t.Error("no run was killed before it was complete")
	}
	t.Logf("%d of %d runs were killed within the %s that one takes", early, times, whole)
}

// killAfter starts a victim and kills it after wait. It returns the duration of the run, or
// -1 if the run was killed before it completed.
func killAfter(t *testing.T, g workDir, wait time.Duration) time.Duration {
	t.Helper()
	command := g.command(t, "apply")
	out, err := command.StdoutPipe()
	must(t, err)
	in, err := command.StdinPipe()
	must(t, err)
	must(t, command.Start())
	reader := bufio.NewReader(out)
	if line, err := reader.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("it said %q, %v", line, err)
	}
	start := time.Now()
	must(t, in.Close())
	timer := time.AfterFunc(wait, func() { _ = command.Process.Kill() })
	defer timer.Stop()
	took := time.Duration(-1)
	line, err := reader.ReadString('\n')
	if line == "complete\n" {
		took = time.Since(start) // not at exit, which takes a second under the race detector
	}
	rest, _ := io.ReadAll(reader) // an error comes from the kill
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrClosed) {
		t.Fatal(err)
	}
	_ = command.Wait() // the output shows whether it was killed
	if strings.Contains(line+string(rest), "FAIL") {
		t.Fatalf("the run failed: %s%s", line, rest)
	}
	return took
}

// A power failure can leave any prefix of the log. The host is changed only after the
// intent is durable, and originals are saved only after the header is.
func TestLogTruncatedAtEveryByte(t *testing.T) {
	useTmpfs(t)
	root, dir := populate(t), t.TempDir()
	changes := []Change{
		{Kind: File, Target: "/etc/new/file", Desired: ownedByTest(FileState([]byte("new\n"), 0o600))},
		{Kind: File, Target: "/etc/replaced", Desired: ownedByTest(FileState([]byte("theirs\n"), 0o755))},
		{Kind: File, Target: "/etc/unwanted", Desired: State{}},
	}
	applied := workDir{root: copyTree(t, root), dir: dir}
	l := open(t, applied.dir, applied.root)
	_, err := l.Apply(t.Context(), "files", changes)
	must(t, err)
	must(t, l.Close())
	k := expectedStates{before: snapshot(t, root), after: snapshot(t, applied.root)}
	log, err := os.ReadFile(filepath.Join(dir, "ledger.log"))
	must(t, err)
	intended := strings.LastIndex(strings.TrimSuffix(string(log), "\n"), "\n") + 1
	head := strings.Index(string(log), "\n") + 1
	for cut := range len(log) + 1 {
		trees := []string{root}
		if cut >= intended {
			trees = append(trees, applied.root) // before the first change, or after the last
		}
		for _, tree := range trees {
			g := workDir{root: copyTree(t, tree), dir: copyTree(t, dir)}
			must(t, os.WriteFile(filepath.Join(g.dir, "ledger.log"), log[:cut], 0o600))
			if cut < head {
				must(t, os.RemoveAll(filepath.Join(g.dir, "originals")))
			}
			when := fmt.Sprintf("log cut at %d of %d", cut, len(log))
			l := open(t, g.dir, g.root)
			if _, err := l.Apply(t.Context(), "files", changes); err != nil {
				t.Fatalf("%s: %v", when, err)
			}
			if diff := cmp.Diff(k.after, snapshot(t, g.root)); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", when, diff)
			}
			k.checkUndo(t, l, g, when)
		}
	}
	t.Logf("%d cuts", len(log)+1)
}
