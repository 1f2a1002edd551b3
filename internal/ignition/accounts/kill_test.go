// SPDX-License-Identifier: Apache-2.0

//go:build faults

package accounts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/coreos/ignition/v2/config/v3_6/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// The variables that make the test binary the process that is killed.
const (
	victimRoot = "ACCOUNTS_TEST_ROOT"
	victimDir  = "ACCOUNTS_TEST_LEDGER"
	victimVerb = "ACCOUNTS_TEST_VERB"
)

// victim stays on the first thread, the only one whose system calls are counted:
// the commands that it starts are not killed.
func init() { // init runs on the first thread
	if os.Getenv(victimRoot) != "" {
		runtime.LockOSThread()
	}
}

func TestMain(m *testing.M) {
	root := os.Getenv(victimRoot)
	if root == "" {
		os.Exit(m.Run())
	}
	var passwd types.Passwd
	err := json.Unmarshal([]byte(allCommands), &passwd)
	victim := &machine{root: root, dir: os.Getenv(victimDir)}
	openErr := victim.open(func(l *ledger.Ledger, tree *hostfs.Tree) {
		if os.Getenv(victimVerb) == "undo" {
			_, err = l.Undo(context.Background())
		} else {
			_, err = Apply(context.Background(), l, tree, "files", Input{Passwd: passwd, Tree: tree})
		}
	})
	if err := errors.Join(err, openErr); err != nil {
		fmt.Println("FAIL", err)
		os.Exit(1)
	}
	fmt.Println("complete")
}

func TestKilledAtEachSystemCall(t *testing.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace is not installed: ", err)
	}
	start := newMachine(t)
	before := visible(t, start.root)
	if err := os.Mkdir(start.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	applied := start.copy(t)
	if _, err := applied.apply(parsePasswd(t, allCommands)); err != nil {
		t.Fatal(err)
	}
	want := visible(t, applied.root)
	for _, verb := range []string{"apply", "undo"} {
		from := map[string]*machine{"apply": start, "undo": applied}[verb]
		for _, call := range []string{"renameat", "unlinkat", "syncfs", "fsync", "write"} {
			t.Run(verb+" at "+call, func(t *testing.T) {
				t.Parallel()
				n := 0
				for ; ; n++ {
					m := from.copy(t)
					if !m.killed(t, verb, call, n+1) {
						break
					}
					if verb == "apply" {
						again := m.copy(t)
						if _, err := again.apply(parsePasswd(t, allCommands)); err != nil {
							t.Fatalf("%d: again: %v", n, err)
						}
						if diff := cmp.Diff(want, visible(t, again.root)); diff != "" {
							t.Errorf("%d: again (-want +got):\n%s", n, diff)
						}
						again.wantUndone(t, before)
					}
					m.wantUndone(t, before)
				}
				if n == 0 {
					t.Error("no call was counted")
				}
				t.Logf("killed at each of %d calls", n)
			})
		}
	}
}

func (m *machine) wantUndone(t *testing.T, before []string) {
	t.Helper()
	if outcome := m.undo(); len(outcome.Kept) > 0 {
		t.Errorf("kept %v", outcome.Kept)
	}
	if diff := cmp.Diff(before, visible(t, m.root)); diff != "" {
		t.Errorf("undone (-before +after):\n%s", diff)
	}
}

// killed runs a victim until its n-th call and reports whether it had as many.
func (m *machine) killed(t *testing.T, verb, call string, n int) bool {
	t.Helper()
	inject := fmt.Sprintf("inject=%s:signal=KILL:when=%d", call, n)
	command := exec.CommandContext(t.Context(), "strace",
		"-qq", "-o", "/dev/null", "-e", "trace="+call, "-e", inject, os.Args[0])
	command.Env = append(os.Environ(),
		victimRoot+"="+m.root, victimDir+"="+m.dir, victimVerb+"="+verb)
	out, err := command.CombinedOutput()
	if err != nil && len(out) == 0 {
		return true
	}
	if string(out) != "complete\n" {
		t.Fatalf("%s, %s %d: %v\n%s", verb, call, n, err, out)
	}
	return false
}

// A kill of the agent does not end the command that it runs: the next run waits
// for it before it reads anything.
func TestNextRunWaitsForTheCommand(t *testing.T) {
	m := newMachine(t)
	tree, err := hostfs.OpenTree(m.root)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	lock, err := tree.Lock(t.Context(), turnFile)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	driver := &shadowUtils{tree: tree}
	if err := driver.CleanUp(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("it does not wait: %v", err)
	}
	lock.Close()
	if err := driver.CleanUp(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(m.root, turnFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the lock file was not removed: %v", err)
	}
}
