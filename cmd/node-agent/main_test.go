package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/stepname"
	"github.com/hcp-node-agent/hcp-node-agent/test/clitest"
)

// agent returns the program under test.
func agent() clitest.Program {
	return clitest.Program{
		Name:      programName,
		Version:   version,
		Run:       run,
		Root:      func() *cobra.Command { return newRootCommand(newPrinter(cli.Streams{})) },
		Documents: documentKinds(),
		Schemas:   schemas(),
		Variables: config.EnvironmentPrefix,
	}
}

func runCommandLine(t *testing.T, stdin string, args ...string) clitest.Result {
	t.Helper()
	return agent().Exec(t, stdin, args...)
}

func TestInvalidCommandLines(t *testing.T) {
	agent().CheckUsageErrors(t, map[string]string{
		"config":                    "hcp-node-agent config: a subcommand is required\nsee: hcp-node-agent config --help\n",
		"config mint":               "hcp-node-agent config: unknown command \"mint\"\nsee: hcp-node-agent config --help\n",
		"config sow":                "hcp-node-agent config: unknown command \"sow\"; did you mean show?\nsee: hcp-node-agent config --help\n",
		"config show a":             "hcp-node-agent config show: unknown command \"a\" for \"hcp-node-agent config show\"\nsee: hcp-node-agent config show --help\n",
		"jion":                      "hcp-node-agent: unknown command \"jion\"; did you mean join?\nsee: hcp-node-agent --help\n",
		"help jion":                 "hcp-node-agent help: unknown command \"jion\"; did you mean join?\nsee: hcp-node-agent help --help\n",
		"help join now":             "hcp-node-agent help: unknown command \"now\"\nsee: hcp-node-agent help --help\n",
		"completion":                "hcp-node-agent completion: a subcommand is required\nsee: hcp-node-agent completion --help\n",
		"completion sch":            "hcp-node-agent completion: unknown command \"sch\"; did you mean zsh?\nsee: hcp-node-agent completion --help\n",
		"--user-data user-data.ign": "hcp-node-agent: unknown flag: --user-data\nsee: hcp-node-agent --help\n",
		"join --userdata x":         "hcp-node-agent join: unknown flag: --userdata\nsee: hcp-node-agent join --help\n",
		"join user-data.ign":        "hcp-node-agent join: unknown command \"user-data.ign\" for \"hcp-node-agent join\"\nsee: hcp-node-agent join --help\n",
		"join --user-data":          "hcp-node-agent join: flag needs an argument: --user-data\nsee: hcp-node-agent join --help\n",
		"join --timeout soon":       "hcp-node-agent join: invalid argument \"soon\" for \"--timeout\" flag: time: invalid duration \"soon\"\nsee: hcp-node-agent join --help\n",
		"node-ip 192.0.2.1":         "hcp-node-agent node-ip: unknown command \"192.0.2.1\" for \"hcp-node-agent node-ip\"\nsee: hcp-node-agent node-ip --help\n",
		"leave --user-data x":       "hcp-node-agent leave: unknown flag: --user-data\nsee: hcp-node-agent leave --help\n",
		"version --output yaml":     "hcp-node-agent version: invalid argument \"yaml\" for \"-o, --output\" flag: must be one of text, json\nsee: hcp-node-agent version --help\n",
		"version -o JSON":           "hcp-node-agent version: invalid argument \"JSON\" for \"-o, --output\" flag: must be one of text, json\nsee: hcp-node-agent version --help\n",
		"apply":                     "hcp-node-agent apply: apply requires --config and --root\nhcp-node-agent apply --help\n",
		"apply --config - --root /": "hcp-node-agent apply: reading --config: standard input is empty\nhcp-node-agent apply --help\n",
	})
}

func TestHelp(t *testing.T) { agent().CheckHelp(t, "config", "show") }

func TestHelpOfEveryCommand(t *testing.T) {
	agent().CheckHelpOfEveryCommand(t)
	join := runCommandLine(t, "", "join", "--help").Out
	for _, step := range bootstrap.Steps() {
		if !strings.Contains(join, fmt.Sprintf("  %-19s  %s\n", step.Name, step.Description)) {
			t.Errorf("help of join does not list step %s", step.Name)
		}
	}
	for _, until := range stepname.UntilValues() {
		if !strings.Contains(join, until) {
			t.Errorf("help of join does not name --until %s", until)
		}
	}
}

func TestVersion(t *testing.T) { agent().CheckVersion(t) }

// The administrator's commands are in hcp-node-admin.
func TestAdministratorCommandsAreNotInTheAgent(t *testing.T) {
	for _, c := range agent().Root().Commands() {
		if c.Name() == "token" || c.Name() == "approve" {
			t.Errorf("hcp-node-agent has the command %s", c.Name())
		}
	}
}

func TestApply(t *testing.T) {
	root := t.TempDir()
	owner := fmt.Sprintf(`"user":{"id":%d},"group":{"id":%d}`, os.Geteuid(), os.Getegid())
	content := `{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/motd","mode":420,"contents":{"source":"data:,hello"},` + owner + `}]}}`
	got := runCommandLine(t, content, "apply", "--config", "-", "--root", root)
	if diff := cmp.Diff(clitest.Result{Code: report.Success, Out: root + " now contains the config (entries: 1, changes: 1)\n"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if written, err := os.ReadFile(filepath.Join(root, "motd")); err != nil || string(written) != "hello" {
		t.Errorf("%q, %v", written, err)
	}
	got = runCommandLine(t, content, "apply", "--config=-", "--root="+root, "-o", "json")
	want := map[string]any{
		"apiVersion": report.APIVersion, "kind": "ApplyResult", "root": root, "changes": 0.0, "entries": 1.0, "exitCode": 0.0,
	}
	if diff := cmp.Diff(want, clitest.DecodeDocument(t, got.Out)); diff != "" || got.Code != report.Success || got.Err != "" {
		t.Errorf("code %d, %s (-want +got):\n%s", got.Code, got.Err, diff)
	}

	other := strings.Replace(content, "hello", "bye", 1)
	const exists = "the config cannot be applied, nothing was changed: /motd must be a file, but a different file exists, and the entry does not set overwrite: true"
	const remedy = "# move the existing files away, or set overwrite: true for the entries in the config"
	failure := "hcp-node-agent apply: " + exists + "\n" + remedy + "\n"
	got = runCommandLine(t, other, "apply", "--config", "-", "--root", root)
	if diff := cmp.Diff(clitest.Result{Code: report.Failed, Err: failure}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got = runCommandLine(t, other, "apply", "--config", "-", "--root", root, "--output", "json")
	want = map[string]any{
		"apiVersion": report.APIVersion, "kind": "Failure", "exitCode": 1.0, "error": exists, "remedy": map[string]any{"note": strings.TrimPrefix(remedy, "# ")},
	}
	if diff := cmp.Diff(want, clitest.DecodeDocument(t, got.Out)); diff != "" || got.Code != report.Failed || got.Err != failure {
		t.Errorf("code %d, %s (-want +got):\n%s", got.Code, got.Err, diff)
	}
}

// A join without user data fails. On a joined host it would resume, so the test is skipped there.
func TestJoinWithoutUserData(t *testing.T) {
	if _, err := os.Stat(joinstate.Dir); err == nil {
		t.Skipf("this machine has joined a cluster (%s): a join would be real", joinstate.Dir)
	}
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte("apiVersion: "+report.APIVersion+"\nkind: "+config.Kind+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const cause = "no user data was given"
	const remedy = "oc -n HCP_NAMESPACE get secret user-data-NODEPOOL-HASH -o jsonpath='{.data.value}' | base64 -d > user-data.ign\nhcp-node-agent join --user-data user-data.ign"
	got := runCommandLine(t, "", "join", "--config", file)
	if diff := cmp.Diff(clitest.Result{Code: report.Usage, Err: "hcp-node-agent join: " + cause + "\n" + remedy +
		"\n"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got = runCommandLine(t, "", "join", "--config", file, "--output", "json")
	want := map[string]any{
		"apiVersion": report.APIVersion, "kind": "Failure", "exitCode": 2.0, "error": cause, "remedy": map[string]any{"command": remedy},
	}
	if diff := cmp.Diff(want, clitest.DecodeDocument(t, got.Out)); diff != "" || got.Code != report.Usage {
		t.Errorf("code %d (-want +got):\n%s", got.Code, diff)
	}
	if _, err := os.Stat(joinstate.Dir); err == nil {
		t.Errorf("%s was made", joinstate.Dir)
	}
}

func TestBadSettingsAreRefused(t *testing.T) {
	head := "apiVersion: " + report.APIVersion + "\nkind: " + config.Kind + "\n"
	for want, test := range map[string]struct {
		content string
		flags   []string // of join, with the same setting; other commands need not have the flag
	}{
		`until is "monday"`:          {head + "until: monday\n", []string{"--until", "monday"}},
		`"bastion" is not HOST:PORT`: {head + "verifyReach: [bastion]\n", []string{"--verify-reach", "bastion"}},
		"networkTimeout is 5s":       {head + "networkTimeout: 5s\n", []string{"--network-timeout", "5s"}},
		"endpiont":                   {"endpiont: a\n", nil},
		`apiVersion ""`:              {"", nil},
		"no such file":               {},
	} {
		dir := t.TempDir()
		file, good := filepath.Join(dir, "config.yaml"), filepath.Join(dir, "good.yaml")
		for name, content := range map[string]string{file: test.content, good: head} {
			if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if want == "no such file" {
			file = filepath.Join(dir, "none.yaml")
		}
		lines := [][]string{{"plan", "--config", file}, {"preflight", "--config", file}, {"doctor", "--config", file}, {"join", "--config", file}}
		if test.flags != nil {
			lines = append(lines, append([]string{"join", "--config", good}, test.flags...))
		}
		for _, line := range lines {
			got := runCommandLine(t, "", line...)
			if got.Code != report.Usage || !strings.Contains(got.Err, want) ||
				!strings.HasPrefix(got.Err, "hcp-node-agent "+line[0]+": invalid configuration: ") || !strings.Contains(got.Err, "\nhcp-node-agent ") {
				t.Errorf("%q: code %d, %s", line, got.Code, got.Err)
			}
		}
	}
}

// A command that changes nothing has no flag for a change, and status, which reads the state of this
// host, none for a join.
func TestCommandsRefuseFlagsOfOthers(t *testing.T) {
	for _, line := range []string{
		"plan --approve-with x", "preflight --keep-bootstrap", "doctor --install-packages", "status --user-data x",
		"status --config x", "config validate --skip network", "run --user-data x",
	} {
		got := runCommandLine(t, "", strings.Fields(line)...)
		if got.Code != report.Usage || !strings.Contains(got.Err, ": unknown flag: --") {
			t.Errorf("%s: code %d, %s", line, got.Code, got.Err)
		}
	}
}
