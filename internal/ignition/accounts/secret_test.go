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
const allCommands = `{"groups":[{"name":"team","gid":3000,"passwordHash":"$6$g$g"}],
	"users":[{"name":"core","groups":["wheel","team"],"passwordHash":"$6$c$c",
		"sshAuthorizedKeys":["ssh-ed25519 AAAA2 core"]},{"name":"anna","sshAuthorizedKeys":["ssh-ed25519 AAAA2 core"]}]}`

// No hash is in an argument, in the ledger's log, or in what the ledger saves.
func TestHashesStayOut(t *testing.T) {
	m := newMachine(t)
	bin := t.TempDir()
	arguments := filepath.Join(bin, "arguments")
	for _, program := range []string{"groupadd", "chgpasswd", "useradd", "chpasswd"} {
		real, err := exec.LookPath(program)
		if err != nil {
			t.Fatal(err)
		}
		script := []byte("#!/bin/sh\necho \"$0 $*\" >>" + arguments + "\nexec " + real + " \"$@\"\n")
		if err := os.WriteFile(filepath.Join(bin, program), script, 0o755); err != nil { //nolint:gosec // executable
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
	if err := exec.Command("grep", "-rqF", "$6$", m.dir).Run(); err == nil {
		t.Error("a hash is in the directory of the ledger")
	}
}

// The hash stays out of the error of a command that fails.
func TestHashIsNotInErrors(t *testing.T) {
	m := newMachine(t)
	bin := t.TempDir()
	failing := filepath.Join(bin, "chpasswd")
	if err := os.WriteFile(failing, []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil { //nolint:gosec // executable
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	passwd := parsePasswd(t, `{"users":[{"name":"core","passwordHash":"$6$c$c"}]}`)
	_, err := m.apply(passwd)
	var failed *command.Error
	if !errors.As(err, &failed) || failed.Argv[0] != "chpasswd" || strings.Contains(err.Error(), "$6$") {
		t.Errorf("error %v", err)
	}
	if err := os.Remove(failing); err != nil {
		t.Fatal(err)
	}
	if _, err := m.apply(passwd); err != nil || !strings.Contains(m.read("etc/shadow"), "core:$6$c$c:") {
		t.Errorf("the next run does not set the hash: %v\n%s", err, m.read("etc/shadow"))
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
			remedy := report.Remedy(test.remedy + m.root + " # creates /" + file)
			if report.CodeOf(err) != report.Refused || report.RemedyOf(err) != remedy {
				t.Errorf("error %v, remedy %q", err, report.RemedyOf(err))
			}
			if strings.Contains(m.read(test.readable), "new") {
				t.Errorf("%s: %s", test.readable, m.read(test.readable))
			}
			withoutHash := parsePasswd(t, `{"users":[{"name":"new","passwordHash":""}],"groups":[{"name":"team"}]}`)
			if _, err := m.apply(withoutHash); err != nil {
				t.Errorf("without a hash: %v", err)
			}
		})
	}
}
