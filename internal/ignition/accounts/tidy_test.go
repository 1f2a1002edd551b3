package accounts

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// cutting ends the run in the middle of one kind's Make.
type cutting struct {
	ledger.Driver
	root string
}

func (d cutting) Make(_ context.Context, c ledger.Change, _ ledger.State) error {
	tree, err := host.OpenTree(d.root)
	if err != nil {
		return err
	}
	defer tree.Close()
	attr := host.Attr{Mode: 0o700}
	if c.Kind == Home {
		home := aside(c.Target)
		return errors.Join(tree.Mkdir(home, attr), tree.Mkdir(home+"/sub", attr), tree.NewBatch().Stage(home+"/sub/file", []byte("x"), attr), errEnded)
	}
	// Staged, and never renamed.
	return errors.Join(tree.NewBatch().Stage(c.Target, []byte("ssh-ed25519 A"), attr), errEnded)
}

// What a killed run had half made of a home and of keys goes with the rest.
func TestKilledInTheMiddle(t *testing.T) {
	passwd := parsePasswd(t, `{"users":[{"name":"core","sshAuthorizedKeys":["ssh-ed25519 AAAA"]},{"name":"bert","sshAuthorizedKeys":["ssh-ed25519 BBBB"]}]}`)
	whole := newMachine(t)
	if _, err := whole.apply(passwd); err != nil {
		t.Fatal(err)
	}
	want := visible(t, whole.root)
	for _, kind := range []ledger.Kind{Home, KeysDir, Keys} {
		t.Run(string(kind), func(t *testing.T) {
			m := newMachine(t)
			before := listing(t, m.root)
			m.around = func(drivers map[ledger.Kind]ledger.Driver) { drivers[kind] = cutting{drivers[kind], m.root} }
			if _, err := m.apply(passwd); !errors.Is(err, errEnded) {
				t.Fatal(err)
			}
			m.around = nil
			again := m.copy(t)
			if outcome := m.undo(); len(outcome.Kept) > 0 {
				t.Errorf("kept %v", outcome.Kept)
			}
			if diff := cmp.Diff(before, listing(t, m.root)); diff != "" {
				t.Errorf("undone (-before +after):\n%s", diff)
			}
			if _, err := again.apply(passwd); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, visible(t, again.root)); diff != "" {
				t.Errorf("again (-want +got):\n%s", diff)
			}
		})
	}
}

// A group that the same config makes has no number yet when the home of its
// new member is looked at.
func TestPrimaryGroupOfTheSameConfig(t *testing.T) {
	for _, group := range []string{"team", "3000"} {
		m := newMachine(t)
		before := listing(t, m.root)
		if _, err := m.apply(parsePasswd(t, `{"groups":[{"name":"team","gid":3000}],"users":[{"name":"anna","primaryGroup":"`+group+`"}]}`)); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(strings.Join(listing(t, m.root), "\n"), "/home/anna/notes 100600 1000:3000") {
			t.Error("the home was not handed over")
		}
		m.undo()
		if diff := cmp.Diff(before, listing(t, m.root)); diff != "" {
			t.Errorf("%s, undone (-before +after):\n%s", group, diff)
		}
	}
}

// asProcess is the variable with the tree that a process of TestMain works on.
const asProcess = "ACCOUNTS_TEST_ROOT"

// TestMain can also be an apply in a process of its own, which can be killed.
func TestMain(m *testing.M) {
	root := os.Getenv(asProcess)
	if root == "" {
		os.Exit(m.Run())
	}
	tree, err := host.OpenTree(root)
	if err == nil {
		err = run(context.Background(), tree, nil, "groupadd", "team")
	}
	if err != nil {
		os.Exit(1)
	}
}

// A kill of the agent does not end the program that it runs: the next run waits
// for it before it looks at anything.
func TestProgramThatOutlivesTheAgent(t *testing.T) {
	m := newMachine(t)
	before := visible(t, m.root)
	dir := t.TempDir()
	said, word := filepath.Join(dir, "said"), filepath.Join(dir, "word")
	for _, pipe := range []string{said, word} {
		if err := unix.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	real, err := exec.LookPath("groupadd")
	if err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\necho begun >" + said + "\nread word <" + word + "\n" + real + " \"$@\"\necho done >" + said + "\n"
	if err := os.WriteFile(filepath.Join(dir, "groupadd"), []byte(script), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	// The ledger of a run that is killed while groupadd runs.
	m.around = func(drivers map[ledger.Kind]ledger.Driver) {
		left := 0
		drivers[Group] = ending{drivers[Group], &left}
	}
	if _, err := m.apply(parsePasswd(t, `{"groups":[{"name":"team"}]}`)); !errors.Is(err, errEnded) {
		t.Fatal(err)
	}
	m.around = nil
	agent := exec.Command(os.Args[0])
	agent.Env = append(os.Environ(), asProcess+"="+m.root, "PATH="+dir+":"+os.Getenv("PATH"))
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	hear := func(want string) {
		t.Helper()
		pipe, err := os.Open(said)
		if err != nil {
			t.Fatal(err)
		}
		defer pipe.Close()
		if got, err := bufio.NewReader(pipe).ReadString('\n'); err != nil || got != want+"\n" {
			t.Fatalf("%q, %v", got, err)
		}
	}
	hear("begun")
	if err := agent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = agent.Wait() // it was killed
	tree, err := host.OpenTree(m.root)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	hasty, cancel := context.WithCancel(t.Context())
	cancel()
	for _, driver := range []ledger.Tidier{&Groups{Tree: tree}, &Users{Tree: tree}} {
		if err := driver.Tidy(hasty, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("%T does not wait: %v", driver, err)
		}
	}
	if err := os.WriteFile(word, []byte("go\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	hear("done")
	if !strings.Contains(m.read("etc/group"), "team:") {
		t.Fatal("groupadd has not gone on")
	}
	m.undo()
	if diff := cmp.Diff(before, visible(t, m.root)); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

// A kill can be in the moment in which the directory of a home that is being
// built has only the name that everything new has first.
func TestTidyOfAHomeThatWasJustBegun(t *testing.T) {
	root := t.TempDir()
	tree, err := host.OpenTree(root)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	sum := sha256.Sum256([]byte(".hcp-node-agent.home.new"))
	begun := filepath.Join(root, "home", ".hcp-node-agent."+hex.EncodeToString(sum[:8]))
	if err := os.MkdirAll(begun, 0o700); err != nil {
		t.Fatal(err)
	}
	homes := &Homes{Tree: tree}
	if err := homes.Tidy(t.Context(), []ledger.Change{{Kind: Home, Target: "/home/new"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(begun); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}
