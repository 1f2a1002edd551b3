// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Environment variables that turn a test binary into the victim process.
const (
	victimRoot    = "HCP_TEST_VICTIM_ROOT"
	victimDir     = "HCP_TEST_VICTIM_DIR"
	victimCommand = "HCP_TEST_VICTIM_VERB"

	victimMayFail = "HCP_TEST_VICTIM_MAY_FAIL" // print errors instead of failing the test
)

// victim runs as the process to be killed. It stays on one thread, so that system calls can
// be counted.
func victim(t *testing.T) {
	t.Helper()
	runtime.LockOSThread()
	fmt.Println("ready")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // wait for the test to start the timer
	l := open(t, os.Getenv(victimDir), os.Getenv(victimRoot))
	var err error
	if os.Getenv(victimCommand) == "undo" {
		_, err = l.Undo(t.Context())
	} else {
		_, err = l.Apply(t.Context(), "files", treeChanges())
	}
	if os.Getenv(victimMayFail) != "" {
		fmt.Println(err)
		return
	}
	must(t, err)
	fmt.Println("complete")
}

// workDir is the working directory of a victim: a tree and its ledger.
type workDir struct{ root, dir string }

func (g workDir) command(t *testing.T, verb string, before ...string) *exec.Cmd {
	t.Helper()
	test, _, _ := strings.Cut(t.Name(), "/")
	argv := slices.Concat(before, []string{os.Args[0], "-test.run=^" + test + "$"})
	command := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	command.Env = append(os.Environ(), victimRoot+"="+g.root, victimDir+"="+g.dir, victimCommand+"="+verb,
		"GORACE=atexit_sleep_ms=0") // avoids one second at exit under the race detector
	return command
}

func (g workDir) clone(t *testing.T) workDir {
	t.Helper()
	return workDir{root: copyTree(t, g.root), dir: copyTree(t, g.dir)}
}

// expectedStates is the expected state before and after an uninterrupted run.
type expectedStates struct{ before, after []string }

// newExpectedStates returns the expected states and the ground for verb.
func newExpectedStates(t *testing.T, verb string) (expectedStates, workDir) {
	t.Helper()
	g := workDir{root: buildTree(t), dir: t.TempDir()}
	k := expectedStates{before: snapshot(t, g.root)}
	applied := g.clone(t)
	l := open(t, applied.dir, applied.root)
	_, err := l.Apply(t.Context(), "files", treeChanges())
	must(t, err)
	must(t, l.Close())
	k.after = snapshot(t, applied.root)
	if verb == "undo" {
		return k, applied
	}
	return k, g
}

// checkRecovery checks that a killed run can be resumed and completes as if it had not been killed,
// and that it can be undone completely.
func (k expectedStates) checkRecovery(t *testing.T, g workDir, verb, when string) {
	t.Helper()
	given := g
	if verb == "apply" {
		given = g.clone(t)
		l := open(t, g.dir, g.root)
		if _, err := l.Apply(t.Context(), "files", treeChanges()); err != nil {
			t.Fatalf("%s, run again: %v", when, err)
		}
		if diff := cmp.Diff(k.after, snapshot(t, g.root)); diff != "" {
			t.Fatalf("%s, run again (-want +got):\n%s", when, diff)
		}
		for _, item := range l.Items() {
			if !item.Done {
				t.Errorf("%s, run again: %s is not done", when, item.Key())
			}
		}
		k.checkUndo(t, l, g, when+", run again, undone")
	}
	k.checkUndo(t, open(t, given.dir, given.root), given, when+", undone")
}

func (k expectedStates) checkUndo(t *testing.T, l *Ledger, g workDir, when string) {
	t.Helper()
	outcome, err := l.Undo(t.Context())
	if err != nil || len(outcome.Kept) > 0 {
		t.Fatalf("%s: kept %v, %v", when, outcome.Kept, err)
	}
	if diff := cmp.Diff(k.before, snapshot(t, g.root)); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", when, diff)
	}
	must(t, l.Remove())
	must(t, l.Close())
	if left, err := os.ReadDir(g.dir); err != nil || len(left) > 0 {
		t.Fatalf("%s: the ledger's directory holds %v, %v", when, left, err)
	}
}
