package accounts

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// An undo that was killed has given an account back in some of its files; the
// next one does not take the rest for somebody else's.
func TestUndoKilledBetweenFiles(t *testing.T) {
	for name, config := range map[string]string{
		"user made":           `{"users":[{"name":"core","noCreateHome":true,"groups":["wheel","mail"],"passwordHash":"$6$c$c","uid":4000}]}`,
		"user made, no group": `{"users":[{"name":"core","noCreateHome":true,"noUserGroup":true}]}`,
		"user changed":        `{"users":[{"name":"bert","gecos":"Bert","shell":"/bin/sh","groups":["mail"],"passwordHash":"$6$c$c"}]}`,
		"user removed":        `{"users":[{"name":"anna","shouldExist":false}]}`,
		"group made":          `{"groups":[{"name":"team","gid":3000,"passwordHash":"$6$g$g"}]}`,
		"group changed":       `{"groups":[{"name":"users","gid":101,"passwordHash":"$6$g$g"}]}`,
		"group removed":       `{"groups":[{"name":"ops","shouldExist":false}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			before := listing(t, m.root)
			if _, err := m.apply(parsePasswd(t, config)); err != nil {
				t.Fatal(err)
			}
			undone := m.copy(t)
			undone.undo()
			for given := range len(accountFiles()) {
				m := m.copy(t)
				for _, file := range accountFiles()[:given] {
					// In place: they keep owners and modes.
					if err := os.WriteFile(filepath.Join(m.root, "etc", file), []byte(undone.read("etc/"+file)), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				if outcome := m.undo(); len(outcome.Kept) > 0 {
					t.Errorf("%v given back: kept %v", accountFiles()[:given], outcome.Kept)
				}
				if diff := cmp.Diff(before, listing(t, m.root)); diff != "" {
					t.Errorf("%v given back (-before +after):\n%s", accountFiles()[:given], diff)
				}
			}
		})
	}
}

// What is neither as it was nor as wished is somebody else's.
func TestHalfwayIsNotOfOthers(t *testing.T) {
	for name, test := range map[string]struct{ config, command, file string }{
		"user made":     {`{"users":[{"name":"core","noCreateHome":true,"shell":"/bin/sh"}]}`, "usermod|--root|ROOT|--shell|/bin/zsh|core", "passwd"},
		"user enrolled": {`{"users":[{"name":"core","noCreateHome":true,"groups":["wheel"]}]}`, "usermod|--root|ROOT|--groups|mail|core", "group"},
		"user changed":  {`{"users":[{"name":"bert","gecos":"Bert","shell":"/bin/sh"}]}`, "usermod|--root|ROOT|--shell|/bin/zsh|bert", "passwd"},
		"user removed":  {`{"users":[{"name":"bert","shouldExist":false}]}`, "useradd|--root|ROOT|--uid|7000|--no-create-home|bert", "passwd"},
		"group changed": {`{"groups":[{"name":"empty","gid":1600}]}`, "groupmod|--root|ROOT|--gid|1700|empty", "group"},
		"group removed": {`{"groups":[{"name":"empty","shouldExist":false}]}`, "groupadd|--root|ROOT|--gid|1700|empty", "group"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			if _, err := m.apply(parsePasswd(t, test.config)); err != nil {
				t.Fatal(err)
			}
			oracle(t, m.root, test.command)
			theirs := m.read("etc/" + test.file)
			outcome := m.undo()
			if !slices.ContainsFunc(outcome.Kept, func(d ledger.Difference) bool { return d.Kind == User || d.Kind == Group }) {
				t.Errorf("kept %v", outcome.Kept)
			}
			if diff := cmp.Diff(theirs, m.read("etc/"+test.file)); diff != "" {
				t.Errorf("(-theirs +undone):\n%s", diff)
			}
		})
	}
}

// Half an account that is not as wished in what is left of it was somebody's.
func TestHalfOfAnother(t *testing.T) {
	change := ledger.Change{Kind: User, Target: "core", Want: ledger.State{Present: true, Value: `{"uid":4000,"passwordHashSHA256":"aa","new":{}}`}}
	for value, want := range map[string]bool{
		`{"uid":4000,"passwordHashSHA256":"bb","new":{"half":true}}`: true,
		`{"uid":4001,"passwordHashSHA256":"aa","new":{"half":true}}`: false,
		`{"uid":4000,"passwordHashSHA256":"bb","new":{}}`:            false,
	} {
		got, err := (&Users{}).Halfway(change, ledger.State{}, ledger.State{Present: true, Value: value})
		if err != nil || got != want {
			t.Errorf("%s: %v, %v", value, got, err)
		}
	}
}
