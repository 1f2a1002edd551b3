// SPDX-License-Identifier: Apache-2.0

package clitest

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/test/pty"
)

// Completions are the expected completions for each beginning of a command line, without the name
// of the program, in a directory with a file of user data and the directory enrollments. InFish has
// those that differ in fish, where cobra's script also completes files.
type Completions struct {
	InAllShells map[string][]string
	InFish      map[string][]string
}

// FirstWords returns the completions of an empty command line.
func (p Program) FirstWords() []string {
	words := []string{"help"}
	for _, c := range p.Root().Commands() {
		if c.IsAvailableCommand() {
			words = append(words, c.Name())
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// newWorkDir returns a directory with a file and a directory, the completion script for a shell, and
// an environment in which the program is in PATH: the test binary, which must run the program if it
// is called by its name.
func (p Program) newWorkDir(t *testing.T, shell string) (dir, script string, environment []string) {
	t.Helper()
	if _, err := exec.LookPath(shell); err != nil {
		t.Fatalf("%v; make deps installs what tests need", err)
	}
	dir = t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "enrollments"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"user-data.ign": "", "script": p.Exec(t, "", "completion", shell).Out} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(executable, filepath.Join(bin, p.Name)); err != nil {
		t.Fatal(err)
	}
	environment = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + dir, "TERM=dumb", "LC_ALL=C.UTF-8"}
	return dir, filepath.Join(dir, "script"), environment
}

// checkOnTerminal runs a shell on a terminal and types the beginning of each command line. The key
// inserts all completions into the line, which is then printed as the arguments of printf.
func (p Program) checkOnTerminal(t *testing.T, command *exec.Cmd, begin, key string, completions map[string][]string) {
	t.Helper()
	script := filepath.Join(command.Dir, "script")
	terminal := pty.Start(t, 4000, 50, command)
	terminal.Type(begin + "; source " + script + "; printf '\\100READY'\n")
	terminal.WaitFor("@READY")
	for line, want := range completions {
		terminal.Type(p.Name + " " + line + key + "\x01printf '\\100<%s>' \x05; printf '\\100END'\n")
		shown := terminal.WaitFor("@END")
		var got []string
		for _, match := range regexp.MustCompile(`@<([^>]*)>`).FindAllStringSubmatch(shown, -1) {
			got = append(got, strings.TrimSuffix(match[1], "/")) // shells differ in the trailing slash
		}
		// The words of the line if the last word has no completion.
		before := strings.Fields(p.Name + " " + line)
		if !strings.HasSuffix(line, " ") && line != "" && len(want) > 0 {
			before = before[:len(before)-1]
		}
		if len(got) < len(before) || !slices.Equal(before, got[:len(before)]) {
			t.Errorf("%q: the line became %q", line, got)
			continue
		}
		options := slices.DeleteFunc(got[len(before):], func(word string) bool {
			return line == "" && strings.HasPrefix(word, "--")
		})
		slices.Sort(options)
		if len(want) == 0 && len(options) == 0 {
			continue
		}
		if diff := cmp.Diff(want, options); diff != "" {
			t.Errorf("%q (-want +got):\n%s", line, diff)
		}
	}
}

// CheckCompletionInBash checks the completions in bash.
func (p Program) CheckCompletionInBash(t *testing.T, completions Completions) {
	t.Helper()
	dir, _, environment := p.newWorkDir(t, "bash")
	command := exec.CommandContext(t.Context(), "bash", "--norc", "--noprofile", "-i")
	command.Dir, command.Env = dir, environment
	begin := "PS1='$ '; bind 'set enable-bracketed-paste off'; source /usr/share/bash-completion/bash_completion"
	p.checkOnTerminal(t, command, begin, "\x1b*", completions.InAllShells)
}

// CheckCompletionInZsh checks the completions in zsh.
func (p Program) CheckCompletionInZsh(t *testing.T, completions Completions) {
	t.Helper()
	dir, _, environment := p.newWorkDir(t, "zsh")
	command := exec.CommandContext(t.Context(), "zsh", "-f", "-i")
	command.Dir, command.Env = dir, environment
	// zshcompwid(1): the completer all_matches inserts all matches.
	begin := `bindkey -e; PS1='$ '; unsetopt zle_bracketed_paste; autoload -Uz compinit && compinit -u -D; ` +
		`zstyle ':completion:all-matches::::' completer _all_matches _complete; ` +
		`zstyle ':completion:all-matches:*' old-matches true; zstyle ':completion:all-matches:*' insert true; ` +
		`zle -C all-matches complete-word _generic; bindkey '^Xa' all-matches`
	p.checkOnTerminal(t, command, begin, "\x18a", completions.InAllShells)
}

// CheckCompletionInFish checks the completions in fish.
func (p Program) CheckCompletionInFish(t *testing.T, completions Completions) {
	t.Helper()
	dir, script, environment := p.newWorkDir(t, "fish")
	lines := maps.Clone(completions.InAllShells)
	maps.Copy(lines, completions.InFish)
	for line, want := range lines {
		command := exec.CommandContext(t.Context(), "fish", "--no-config", "-c",
			"source $argv[1]; complete -C $argv[2]", script, p.Name+" "+line)
		command.Dir, command.Env = dir, environment
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		got := []string{}
		for answer := range strings.Lines(string(out)) {
			word, _, _ := strings.Cut(strings.TrimSuffix(answer, "\n"), "\t")
			got = append(got, strings.TrimSuffix(word, "/"))
		}
		slices.Sort(got)
		// cobra's script adds a variant with a dot to a single completion without a space.
		if len(got) == 2 && got[1] == got[0]+"." {
			got = got[:1]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", line, diff)
		}
	}
}
