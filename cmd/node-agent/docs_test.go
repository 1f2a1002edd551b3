package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// The man pages are what groff and mandoc both take without a warning.
func TestManPages(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1795219200")
	dir := t.TempDir()
	if got := call(t, "", "docs", "man", dir); got.code != report.Done || got.out+got.err != "" {
		t.Fatalf("%+v", got)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.8"))
	if err != nil || len(pages) != len(shown())+1 {
		t.Fatalf("there are %d pages of %d verbs, %v", len(pages), len(shown()), err)
	}
	for _, checker := range [][]string{{"groff", "-ww", "-mandoc", "-Tutf8", "-z"}, {"mandoc", "-T", "lint", "-W", "warning"}} {
		command := exec.CommandContext(t.Context(), checker[0], append(checker[1:], pages...)...)
		out, err := command.CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("%s: %v (make deps installs what tests need)\n%s", checker[0], err, out)
		}
	}
}

// A page tells all that is in the tables, and shows it as it can be typed.
func TestManPageOfJoin(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1795219200")
	page := tool().Pages()["hcp-node-agent-join.8"]
	command := exec.CommandContext(t.Context(), "groff", "-mandoc", "-Tascii", "-P-c", "-rLL=200n")
	command.Stdin = strings.NewReader(page)
	out, err := command.Output()
	if err != nil {
		t.Fatalf("groff: %v", err)
	}
	text := regexp.MustCompile(".\b").ReplaceAllString(string(out), "")
	for _, want := range []string{
		"2026-11-21", "hcp-node-agent join [OPTION ...]", "--user-data FILE", "-o, --output FORMAT", "[HCP_NODE_AGENT_PAYLOAD_DROP, payload.drop]",
		"a final /**;", "CRI-O's pause IMAGE", "/var/lib/hcp-node-agent", "       7      Reboot needed, then run it again.", "       130    Interrupted", "SEE ALSO",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q:\n%s", want, text)
		}
	}
}

// docs/reference.md is of this program.
func TestReferenceIsFresh(t *testing.T) {
	content, err := os.ReadFile("../../docs/reference.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(content), call(t, "", "docs", "markdown").out); diff != "" {
		t.Errorf("make docs makes it anew (-file +now):\n%s", diff)
	}
}
