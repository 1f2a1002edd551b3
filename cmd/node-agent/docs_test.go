package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// groff and mandoc must accept the man pages without warnings.
func TestManPages(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1795219200")
	dir := t.TempDir()
	if got := runCommandLine(t, "", "docs", "man", dir); got.code != report.Success || got.out+got.err != "" {
		t.Fatalf("%+v", got)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.[58]"))
	if all := AvailableCommands(newRootCommand(&Printer{})); err != nil || len(pages) != len(all)+1 { // plus the page of the configuration file
		t.Fatalf("there are %d pages of %d commands, %v", len(pages), len(all), err)
	}
	for _, checker := range [][]string{{"groff", "-ww", "-mandoc", "-Tutf8", "-z"}, {"mandoc", "-T", "lint", "-W", "warning"}} {
		command := exec.CommandContext(t.Context(), checker[0], append(checker[1:], pages...)...)
		out, err := command.CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("%s: %v (make deps installs what tests need)\n%s", checker[0], err, out)
		}
	}
}

// A man page contains all entries of the tables, in a form that can be copied.
func TestManPageOfJoin(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1795219200")
	text := formatManPage(t, "hcp-node-agent-join.8")
	for _, want := range []string{
		"2026-11-21", "hcp-node-agent join [flags]", "       --user-data=\"\"\n              the NodePool's user-data stub: a FILE,",
		"       -o, --output=\"text\"\n              output FORMAT", "[HCP_NODE_AGENT_PAYLOAD_DROP, payload.drop]",
		"a final /**;", "CRI-O's pause IMAGE", "\n       schedulable  wait", "/var/lib/hcp-node-agent",
		"       7      reboot needed, then run it again\n", "       130    interrupted", "SEE ALSO", "with the value dumb, lines",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q:\n%s", want, text)
		}
	}
}

// The example in the configuration file's man page is valid, and the page has all settings.
func TestManPageOfTheConfiguration(t *testing.T) {
	text := strings.Join(strings.Fields(formatManPage(t, "hcp-node-agent-config.5")), " ")
	for flag, setting := range config.Keys() {
		same := regexp.MustCompile(" " + regexp.QuoteMeta(setting) + " .* Same as --" + flag + "( [^ ]+)? and " + config.Variable(flag) + `\.`)
		if !same.MatchString(text) {
			t.Errorf("the page does not have %s, --%s:\n%s", setting, flag, text)
		}
	}
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(configurationExample()), 0o600); err != nil {
		t.Fatal(err)
	}
	if result := runCommandLine(t, "", "config", "validate", file); result.code != 0 {
		t.Errorf("the example is refused: %s%s", result.out, result.err)
	}
}

// formatManPage returns a man page as man displays it.
func formatManPage(t *testing.T, name string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "groff", "-mandoc", "-Tascii", "-P-c", "-rLL=200n")
	pages, err := manPages(newRootCommand(&Printer{}))
	if err != nil {
		t.Fatal(err)
	}
	command.Stdin = strings.NewReader(pages[name])
	out, err := command.Output()
	if err != nil {
		t.Fatalf("groff: %v", err)
	}
	return regexp.MustCompile(".\b").ReplaceAllString(string(out), "")
}

// docs/reference.md must match the current commands.
func TestReferenceIsCurrent(t *testing.T) {
	content, err := os.ReadFile("../../docs/reference.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(content), runCommandLine(t, "", "docs", "markdown").out); diff != "" {
		t.Errorf("make docs makes it anew (-file +now):\n%s", diff)
	}
}
