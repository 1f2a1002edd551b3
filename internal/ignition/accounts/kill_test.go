package accounts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// stumbling puts programs first in PATH that count their runs and fail at the
// n-th, before or after the real one has done its work. It gives back how many
// runs there were.
func stumbling(t *testing.T, n int, after bool) func() int {
	t.Helper()
	dir := t.TempDir()
	count := filepath.Join(dir, "count")
	for _, program := range programs() {
		real, err := exec.LookPath(program)
		if err != nil {
			t.Fatal(err)
		}
		first, second := "", ""
		fail := fmt.Sprintf(`[ "$(wc -c <%s)" -eq %d ] && exit 1`, count, n)
		if after {
			second = fail
		} else {
			first = fail
		}
		script := fmt.Sprintf("#!/bin/sh\nprintf x >>%s\n%s\n%s \"$@\" || exit\n%s\nexit 0\n", count, first, real, second)
		if err := os.WriteFile(filepath.Join(dir, program), []byte(script), 0o755); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return func() int {
		runs, err := os.ReadFile(count)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return len(runs)
	}
}

// story is a config that needs every program.
const story = `{"groups":[{"name":"team","gid":3000,"passwordHash":"$6$g$g"},{"name":"ops","shouldExist":false},{"name":"users","gid":101}],
	"users":[{"name":"core","groups":["wheel","team"],"passwordHash":"$6$c$c","sshAuthorizedKeys":["ssh-ed25519 AAAA2 core"]},
		{"name":"bert","uid":4000,"homeDir":"/srv/bert","passwordHash":"$6$n$n"},
		{"name":"anna","shouldExist":false}]}`

func TestProgramsThatFail(t *testing.T) {
	whole := newMachine(t)
	if _, err := whole.apply(parsePasswd(t, story)); err != nil {
		t.Fatal(err)
	}
	want := visible(t, whole.root)
	for _, after := range []bool{false, true} {
		for n := 1; ; n++ {
			ended := false
			t.Run("program "+strconv.Itoa(n)+" after "+strconv.FormatBool(after), func(t *testing.T) {
				m := newMachine(t)
				before := listing(t, m.root)
				path := os.Getenv("PATH")
				runs := stumbling(t, n, after)
				_, err := m.apply(parsePasswd(t, story))
				if ended = runs() < n; ended {
					if err != nil {
						t.Fatal(err)
					}
					t.Logf("%d runs of programs", runs())
					return
				}
				if err == nil {
					t.Fatal("the failure of a program was not noticed")
				}
				t.Setenv("PATH", path)
				copied := m.copy(t)
				if _, err := m.apply(parsePasswd(t, story)); err != nil {
					t.Fatalf("again: %v", err)
				}
				if diff := cmp.Diff(want, visible(t, m.root)); diff != "" {
					t.Errorf("again (-want +got):\n%s", diff)
				}
				for _, m := range []*machine{m, copied} {
					m.undo()
					if diff := cmp.Diff(before, listing(t, m.root)); diff != "" {
						t.Errorf("undone (-before +after):\n%s", diff)
					}
				}
			})
			if ended {
				break
			}
		}
	}
}

// copy makes a second machine that is as the first.
func (m *machine) copy(t *testing.T) *machine {
	t.Helper()
	dir := t.TempDir()
	for _, from := range []string{m.root, m.dir} {
		if out, err := exec.Command("cp", "-a", from, dir).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return &machine{t: t, root: filepath.Join(dir, filepath.Base(m.root)), dir: filepath.Join(dir, filepath.Base(m.dir)), live: m.live}
}

// ending is a driver whose n-th Make, over all of them, does not return to the
// ledger what it did: as if the run had been killed.
type ending struct {
	ledger.Driver
	left *int
}

var errEnded = errors.New("the run was ended")

func (e ending) Make(ctx context.Context, c ledger.Change, now ledger.State) error {
	*e.left--
	if *e.left < 0 {
		return errEnded
	}
	return e.Driver.Make(ctx, c, now)
}

func endAfter(left *int) func(map[ledger.Kind]ledger.Driver) {
	return func(drivers map[ledger.Kind]ledger.Driver) {
		for _, kind := range slices.Collect(maps.Keys(drivers)) {
			if _, many := drivers[kind].(ledger.Together); !many {
				drivers[kind] = ending{drivers[kind], left}
			}
		}
	}
}

func TestKilledBetweenChanges(t *testing.T) {
	whole := newMachine(t)
	if _, err := whole.apply(parsePasswd(t, story)); err != nil {
		t.Fatal(err)
	}
	want := visible(t, whole.root)
	for n := 0; ; n++ {
		m := newMachine(t)
		before := listing(t, m.root)
		left := n
		m.around = endAfter(&left)
		_, err := m.apply(parsePasswd(t, story))
		if left >= 0 && err == nil {
			t.Logf("%d changes", n-left)
			return
		}
		if !errors.Is(err, errEnded) {
			t.Fatalf("%d: %v", n, err)
		}
		m.around = nil
		copied := m.copy(t)
		if _, err := m.apply(parsePasswd(t, story)); err != nil {
			t.Fatalf("%d, again: %v", n, err)
		}
		if diff := cmp.Diff(want, visible(t, m.root)); diff != "" {
			t.Errorf("%d, again (-want +got):\n%s", n, diff)
		}
		for _, m := range []*machine{m, copied} {
			m.undo()
			if diff := cmp.Diff(before, listing(t, m.root)); diff != "" {
				t.Errorf("%d, undone (-before +after):\n%s", n, diff)
			}
		}
	}
}

// A program that was killed itself can leave an account in some of the files
// only.
func TestHalfAnAccount(t *testing.T) {
	passwd := parsePasswd(t, `{"groups":[{"name":"team"}],"users":[{"name":"core","groups":["wheel"],"passwordHash":"$6$c$c"}]}`)
	whole := newMachine(t)
	if _, err := whole.apply(passwd); err != nil {
		t.Fatal(err)
	}
	want := visible(t, whole.root)
	for _, lost := range [][]string{{"group", "gshadow", "subuid"}, {"shadow", "group", "gshadow"}, {"gshadow"}, {"shadow"}} {
		m := newMachine(t)
		before := listing(t, m.root)
		m.around = func(drivers map[ledger.Kind]ledger.Driver) {
			for _, kind := range []ledger.Kind{User, Group} {
				drivers[kind] = halving{drivers[kind], m.root, lost}
			}
		}
		if _, err := m.apply(passwd); !errors.Is(err, errEnded) {
			t.Fatal(err)
		}
		m.around = nil
		if _, err := m.apply(passwd); err != nil {
			t.Fatalf("%v, again: %v", lost, err)
		}
		if diff := cmp.Diff(want, visible(t, m.root)); diff != "" {
			t.Errorf("%v, again (-want +got):\n%s", lost, diff)
		}
		m.undo()
		if diff := cmp.Diff(before, listing(t, m.root)); diff != "" {
			t.Errorf("%v, undone (-before +after):\n%s", lost, diff)
		}
	}
}

// halving makes an account, takes it out of some of the files and ends the run.
type halving struct {
	ledger.Driver
	root string
	lost []string
}

func (h halving) Make(ctx context.Context, c ledger.Change, now ledger.State) error {
	if c.Kind == Group && !slices.Equal(h.lost, []string{"gshadow"}) {
		return h.Driver.Make(ctx, c, now)
	}
	if err := h.Driver.Make(ctx, c, now); err != nil {
		return err
	}
	tree, err := host.OpenTree(h.root)
	if err != nil {
		return err
	}
	defer tree.Close()
	err = edit(ctx, tree, func(db database) error {
		for _, file := range h.lost {
			db[file].remove(c.Target)
		}
		return nil
	})
	return errors.Join(err, errEnded)
}
