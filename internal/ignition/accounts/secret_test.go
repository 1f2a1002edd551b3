// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// allCommands is a config that needs each command that a join can run.
const allCommands = `{"groups":[{"name":"team","gid":3000,"passwordHash":"$6$g$g"},{"name":"empty","shouldExist":false},{"name":"users","gid":101}],
	"users":[{"name":"core","groups":["wheel","team"],"passwordHash":"$6$c$c","sshAuthorizedKeys":["ssh-ed25519 AAAA2 core"]},
		{"name":"bert","shell":"/bin/zsh","passwordHash":"$6$n$n"}]}`

// No hash is in an argument, in the ledger's log, or in a file that others can
// read; only the ones that were replaced are kept, for root alone.
func TestHashesStayOut(t *testing.T) {
	m := newMachine(t)
	bin := t.TempDir()
	arguments := filepath.Join(bin, "arguments")
	for _, program := range []string{"groupadd", "groupmod", "groupdel", "chgpasswd", "useradd", "usermod", "chpasswd"} {
		real, err := exec.LookPath(program)
		if err != nil {
			t.Fatal(err)
		}
		script := "#!/bin/sh\necho \"$0 $*\" >>" + arguments + "\nexec " + real + " \"$@\"\n"
		if err := os.WriteFile(filepath.Join(bin, program), []byte(script), 0o755); err != nil { //nolint:gosec // must be executable
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	made, err := m.apply(parsePasswd(t, allCommands))
	if err != nil {
		t.Fatal(err)
	}
	seen, err := os.ReadFile(arguments)
	if err != nil || !strings.Contains(string(seen), "chpasswd") || !strings.Contains(string(seen), "chgpasswd") {
		t.Fatalf("%v: %s", err, seen)
	}
	log, err := os.ReadFile(filepath.Join(m.dir, "ledger.log"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"the arguments": string(seen), "the ledger's log": string(log)} {
		if strings.Contains(text, "$6$") {
			t.Errorf("a hash is in %s", name)
		}
	}
	for _, p := range made {
		if strings.Contains(p.Desired.String()+p.Now.String(), "$6$") {
			t.Errorf("a hash is in what is said of %s", p.Key())
		}
	}
	originals, err := os.ReadDir(filepath.Join(m.dir, "originals"))
	if err != nil {
		t.Fatal(err)
	}
	for _, original := range originals {
		info, err := original.Info()
		if err != nil || info.Mode() != 0o600 {
			t.Errorf("%s has mode %v, %v", original.Name(), info.Mode(), err)
		}
	}
}

// The hash stays out of the error of a command that fails.
func TestHashIsNotInErrors(t *testing.T) {
	m := newMachine(t)
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "chpasswd"), []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil { //nolint:gosec // must be executable
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	_, err := m.apply(parsePasswd(t, `{"users":[{"name":"core","passwordHash":"$6$c$c"}]}`))
	var failed *command.Error
	if !errors.As(err, &failed) || failed.Argv[0] != "chpasswd" || strings.Contains(err.Error(), "$6$") {
		t.Errorf("error %v", err)
	}
}

// Without a shadow file, a hash would be written to a file that every user can read.
func TestHashesRequireShadowFiles(t *testing.T) {
	for file, test := range map[string]struct{ passwd, readable, remedy string }{
		"etc/shadow":  {`{"users":[{"name":"new","passwordHash":"$6$new$new"}]}`, "etc/passwd", "pwconv --root "},
		"etc/gshadow": {`{"groups":[{"name":"team","passwordHash":"$6$new$new"}]}`, "etc/group", "grpconv --root "},
	} {
		t.Run(file, func(t *testing.T) {
			m := newMachine(t)
			if err := os.Remove(filepath.Join(m.root, file)); err != nil {
				t.Fatal(err)
			}
			_, err := m.apply(parsePasswd(t, test.passwd))
			if report.CodeOf(err) != report.Refused || report.RemedyOf(err) != report.Remedy(test.remedy+m.root+" # creates /"+file) {
				t.Errorf("error %v, remedy %q", err, report.RemedyOf(err))
			}
			if strings.Contains(m.read(test.readable), "new") {
				t.Errorf("%s: %s", test.readable, m.read(test.readable))
			}
			if _, err := m.apply(parsePasswd(t, `{"users":[{"name":"new","passwordHash":""}],"groups":[{"name":"team"}]}`)); err != nil {
				t.Errorf("without a hash: %v", err)
			}
		})
	}
}
