// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
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
		"config":      "hcp-node-agent config: a subcommand is required\nsee: hcp-node-agent config --help\n",
		"config mint": "hcp-node-agent config: unknown command \"mint\"\nsee: hcp-node-agent config --help\n",
		"config sow": "hcp-node-agent config: unknown command \"sow\"; did you mean show?\n" +
			"see: hcp-node-agent config --help\n",
		"config show a": "hcp-node-agent config show: unexpected argument \"a\"\n" +
			"see: hcp-node-agent config show --help\n",
		"jion": "hcp-node-agent: unknown command \"jion\"; did you mean join?\n" +
			"see: hcp-node-agent --help\n",
		"help jion": "hcp-node-agent help: unknown command \"jion\"; did you mean join?\n" +
			"see: hcp-node-agent help --help\n",
		"help join now": "hcp-node-agent help: unknown command \"now\"\nsee: hcp-node-agent help --help\n",
		"completion": "hcp-node-agent completion: a subcommand is required\n" +
			"see: hcp-node-agent completion --help\n",
		"completion sch": "hcp-node-agent completion: unknown command \"sch\"; did you mean zsh?\n" +
			"see: hcp-node-agent completion --help\n",
		"--user-data user-data.ign": "hcp-node-agent: unknown flag: --user-data\nsee: hcp-node-agent --help\n",
		"join --userdata x":         "hcp-node-agent join: unknown flag: --userdata\nsee: hcp-node-agent join --help\n",
		"join user-data.ign": "hcp-node-agent join: unexpected argument \"user-data.ign\"\n" +
			"# remedy:\nhcp-node-agent join --user-data user-data.ign\n",
		"join --user-data": "hcp-node-agent join: flag needs an argument: --user-data\n" +
			"see: hcp-node-agent join --help\n",
		"join --timeout soon": "hcp-node-agent join: --timeout: invalid value \"soon\": must be a duration such as " +
			"90s or 1h30m\nsee: hcp-node-agent join --help\n",
		"node-ip 192.0.2.1": "hcp-node-agent node-ip: unexpected argument \"192.0.2.1\"\n" +
			"see: hcp-node-agent node-ip --help\n",
		"leave --user-data x": "hcp-node-agent leave: unknown flag: --user-data\nsee: hcp-node-agent leave --help\n",
		"version --output yaml": "hcp-node-agent version: --output: invalid value \"yaml\": must be one of text, json\n" +
			"see: hcp-node-agent version --help\n",
		"version -o JSON": "hcp-node-agent version: --output: invalid value \"JSON\": must be one of text, json\n" +
			"see: hcp-node-agent version --help\n",
		"apply": "hcp-node-agent apply: --payload and --root are required\n" +
			"see: hcp-node-agent apply --help\n",
		"apply --payload - --root /": "hcp-node-agent apply: --payload: standard input is empty\n" +
			"see: hcp-node-agent apply --help\n",
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
	for _, until := range steps.UntilValues() {
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
	content := `{"ignition":{"version":"3.2.0"},
		"storage":{"files":[{"path":"/motd","mode":420,"contents":{"source":"data:,hello"},` + owner + `}]}}`
	got := runCommandLine(t, content, "apply", "--payload", "-", "--root", root)
	if diff := cmp.Diff(clitest.Result{
		Code: report.Success,
		Out:  root + " now contains the config (entries: 1, changes: 1)\n",
	}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if written, err := os.ReadFile(filepath.Join(root, "motd")); err != nil || string(written) != "hello" {
		t.Errorf("%q, %v", written, err)
	}
	got = runCommandLine(t, content, "apply", "--payload=-", "--root="+root, "-o", "json")
	want := map[string]any{
		"apiVersion": report.APIVersion, "kind": "ApplyResult", "root": root, "changes": 0.0, "entries": 1.0, "exitCode": 0.0,
	}
	if diff := cmp.Diff(want, clitest.DecodeDocument(t, got.Out)); diff != "" || got.Code != report.Success ||
		got.Err != "" {
		t.Errorf("code %d, %s (-want +got):\n%s", got.Code, got.Err, diff)
	}

	other := strings.Replace(content, "hello", "bye", 1)
	const exists = "the config cannot be applied, nothing was changed: /motd must be a file, but a different file " +
		"exists, and the entry does not set overwrite: true"
	const remedy = "# move the existing files away, or set overwrite: true for the entries in the config"
	failure := "hcp-node-agent apply: " + exists + "\n" + strings.Replace(remedy, "# ", "# remedy: ", 1) + "\n"
	got = runCommandLine(t, other, "apply", "--payload", "-", "--root", root)
	if diff := cmp.Diff(clitest.Result{Code: report.Failed, Err: failure}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got = runCommandLine(t, other, "apply", "--payload", "-", "--root", root, "--output", "json")
	want = map[string]any{
		"apiVersion": report.APIVersion, "kind": "Failure", "exitCode": 1.0, "error": exists,
		"remedy": map[string]any{"note": strings.TrimPrefix(remedy, "# ")},
	}
	if diff := cmp.Diff(want, clitest.DecodeDocument(t, got.Out)); diff != "" || got.Code != report.Failed ||
		got.Err != failure {
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
	const cause = "no user data was given: the file that HyperShift stores for each NodePool"
	get := ignition.UserDataRemedy()
	for _, command := range []string{"join", "plan"} {
		use := "hcp-node-agent " + command + " --user-data user-data.ign"
		want := "hcp-node-agent " + command + ": " + cause + "\n" +
			strings.Replace(string(get), "# ", "# remedy: ", 1) + "\n# on this host:\n" + use + "\n"
		got := runCommandLine(t, "", command, "--config", file)
		if diff := cmp.Diff(clitest.Result{Code: report.Usage, Err: want}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	got := runCommandLine(t, "", "join", "--config", file, "--output", "json")
	want := map[string]any{
		"apiVersion": report.APIVersion, "kind": "Failure", "exitCode": 2.0, "error": cause, "remedy": map[string]any{
			"command": get.Command() + "\nhcp-node-agent join --user-data user-data.ign", "note": get.Note() + "\non this host:",
		},
	}
	if diff := cmp.Diff(want, clitest.DecodeDocument(t, got.Out)); diff != "" || got.Code != report.Usage {
		t.Errorf("code %d (-want +got):\n%s", got.Code, diff)
	}
	if _, err := os.Stat(joinstate.Dir); err == nil {
		t.Errorf("%s was made", joinstate.Dir)
	}
}

// Invalid settings are reported before the user data is missed.
func TestInvalidSettingsAreRefused(t *testing.T) {
	head := "apiVersion: " + report.APIVersion + "\nkind: " + config.Kind + "\n"
	for name, test := range map[string]struct {
		content string   // of the configuration file
		flags   []string // of join, with the same value; other commands need not have the flag
		want    string   // after the name of the setting
	}{
		"until": {
			head + "until: monday\n",
			[]string{"--until", "monday"},
			`: invalid value "monday": must be one of client-certificate, kubelet, ready, schedulable`,
		},
		"verifyReach": {
			head + "verifyReach: [bastion]\n",
			[]string{"--verify-reach", "bastion"},
			`: invalid value "bastion": must be HOST:PORT`,
		},
		"networkTimeout": {
			head + "networkTimeout: 5s\n",
			[]string{"--network-timeout", "5s"},
			`: invalid value "5s": must be from 30s to 10m0s`,
		},
		"timeout": {
			head + "timeout: 5\n", []string{"--timeout", "5"}, `: invalid value "5": must be a duration such as 90s or 1h30m`,
		},
		"skip": {
			head + "skip: [foo]\n", []string{"--skip", "foo"}, `: invalid value "foo": must be one of preflight, validate, `,
		},
		"payload.drop": {
			head + "payload: {drop: [rel/a/path]}\n",
			[]string{"--payload-drop", "rel/a/path"},
			`: invalid value "rel/a/path": must be an absolute path, UNIT or UNIT/DROP-IN`,
		},
		"nodePool": {
			head + "nodePool: foo\n", []string{"--nodepool", "foo"}, `: invalid value "foo": must be NAMESPACE/NAME`,
		},
		"endpoint": {
			head + "endpoint: https://me:hunter2@a\n",
			[]string{"--endpoint", "https://me:hunter2@a"},
			`: invalid value "https://***@a": user names are not allowed`,
		},
		"endpiont":     {head + "endpiont: a\n", nil, ": unknown setting; did you mean endpoint?"},
		"apiVersion":   {"kind: JoinConfig\n", nil, " is missing"},
		"no such file": {"", nil, ""},
	} {
		dir := writeTempFiles(t, map[string]string{"config.yaml": test.content, "good.yaml": head})
		file := filepath.Join(dir, "config.yaml")
		if test.content == "" {
			file = filepath.Join(dir, "none.yaml")
		}
		for _, command := range []string{"plan", "preflight", "doctor", "join"} {
			got := runCommandLine(t, "", command, "--config", file)
			if got.Code != report.Usage || !strings.HasPrefix(got.Err,
				"hcp-node-agent "+command+": invalid configuration: "+file+":") ||
				!strings.Contains(got.Err, name+test.want) ||
				!strings.HasSuffix(got.Err, "\nsee: hcp-node-agent "+command+" --help\n") {
				t.Errorf("%s: %s: code %d, %s", name, command, got.Code, got.Err)
			}
		}
		if test.flags == nil {
			continue
		}
		got := runCommandLine(t, "", append([]string{"join", "--config", filepath.Join(dir, "good.yaml")}, test.flags...)...)
		if got.Code != report.Usage || !strings.HasPrefix(got.Err, "hcp-node-agent join: "+test.flags[0]+test.want) ||
			!strings.HasSuffix(got.Err, "\nsee: hcp-node-agent join --help\n") {
			t.Errorf("%q: code %d, %s", test.flags, got.Code, got.Err)
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

// The commands of the host that the agent runs inherit the umask.
func TestUmask(t *testing.T) {
	before := unix.Umask(0o077)
	defer unix.Umask(before)
	runCommandLine(t, "", "version")
	if got := unix.Umask(before); got != 0o022 {
		t.Errorf("the umask is %04o", got)
	}
}
