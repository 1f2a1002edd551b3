package main

import (
	"bytes"
	stdcmp "cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// commandResult is the output and the exit code of one command line.
type commandResult struct {
	code     report.Code
	out, err string
}

// runCommandLine runs one command line as main does. It removes the agent's environment variables and fails
// the test if a panic is printed.
func runCommandLine(t *testing.T, stdin string, args ...string) commandResult {
	t.Helper()
	for _, variable := range os.Environ() {
		if name, value, _ := strings.Cut(variable, "="); strings.HasPrefix(name, config.EnvironmentPrefix) {
			t.Setenv(name, value) // restores the variable when the test ends
			if err := os.Unsetenv(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	var out, err bytes.Buffer
	code := run(t.Context(), args, Streams{In: strings.NewReader(stdin), Out: &out, Err: &err})
	s := commandResult{code, out.String(), err.String()}
	for _, trace := range []string{"goroutine ", "panic:", ".go:"} {
		if strings.Contains(s.out+s.err, trace) {
			t.Errorf("%q shows %q:\n%s%s", args, trace, s.out, s.err)
		}
	}
	return s
}

func TestInvalidCommandLines(t *testing.T) {
	for line, want := range map[string]string{
		"token":                     "hcp-node-agent join token: a subcommand is required\nsee: hcp-node-agent join token --help\n",
		"join token mint":           "hcp-node-agent join token: unknown command \"mint\"\nsee: hcp-node-agent join token --help\n",
		"join token sow":            "hcp-node-agent join token: unknown command \"sow\"; did you mean show?\nsee: hcp-node-agent join token --help\n",
		"token show":                "hcp-node-admin token show: accepts 1 arg(s), received 0\nsee: hcp-node-admin token show --help\n",
		"token show a b":            "hcp-node-admin token show: accepts 1 arg(s), received 2\nsee: hcp-node-admin token show --help\n",
		"jion":                      "hcp-node-agent: unknown command \"jion\"; did you mean join?\nsee: hcp-node-agent --help\n",
		"help jion":                 "hcp-node-agent help: unknown command \"jion\"; did you mean join?\nsee: hcp-node-agent help --help\n",
		"help join now":             "hcp-node-agent help: unknown command \"now\"\nsee: hcp-node-agent help --help\n",
		"completion":                "hcp-node-agent completion: a subcommand is required\nsee: hcp-node-agent completion --help\n",
		"completion sch":            "hcp-node-agent completion: unknown command \"sch\"; did you mean zsh?\nsee: hcp-node-agent completion --help\n",
		"--user-data stub.ign":      "hcp-node-agent: unknown flag: --user-data\nsee: hcp-node-agent --help\n",
		"join --userdata x":         "hcp-node-agent join: unknown flag: --userdata\nsee: hcp-node-agent join --help\n",
		"join stub.ign":             "hcp-node-agent join: unknown command \"stub.ign\" for \"hcp-node-agent join\"\nsee: hcp-node-agent join --help\n",
		"join --user-data":          "hcp-node-agent join: flag needs an argument: --user-data\nsee: hcp-node-agent join --help\n",
		"join --timeout soon":       "hcp-node-agent join: invalid argument \"soon\" for \"--timeout\" flag: time: invalid duration \"soon\"\nsee: hcp-node-agent join --help\n",
		"node-ip 192.0.2.1":         "hcp-node-agent node-ip: unknown command \"192.0.2.1\" for \"hcp-node-agent node-ip\"\nsee: hcp-node-agent node-ip --help\n",
		"leave --user-data x":       "hcp-node-agent leave: unknown flag: --user-data\nsee: hcp-node-agent leave --help\n",
		"version --output yaml":     "hcp-node-agent version: invalid argument \"yaml\" for \"-o, --output\" flag: must be one of text, json\nsee: hcp-node-agent version --help\n",
		"version -o JSON":           "hcp-node-agent version: invalid argument \"JSON\" for \"-o, --output\" flag: must be one of text, json\nsee: hcp-node-agent version --help\n",
		"status --output json up":   "hcp-node-agent status: unknown command \"up\" for \"hcp-node-agent status\"\nsee: hcp-node-agent status --help\n",
		"apply":                     "hcp-node-agent apply: apply needs --config and --root\nhcp-node-agent apply --help\n",
		"apply --config - --root /": "hcp-node-agent apply: reading --config: standard input is empty\nhcp-node-agent apply --help\n",
	} {
		t.Run(line, func(t *testing.T) {
			got := runCommandLine(t, "", strings.Fields(line)...)
			if diff := cmp.Diff(commandResult{report.Usage, "", want}, got, cmp.AllowUnexported(commandResult{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// allCommands returns all commands in their order in the help, including hidden ones.
func allCommands(root *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{root}
	for _, c := range root.Commands() {
		all = append(all, allCommands(c)...)
	}
	return all
}

func TestHelp(t *testing.T) {
	help := runCommandLine(t, "")
	if help.code != report.Success || help.err != "" {
		t.Errorf("without arguments: code %d, %s", help.code, help.err)
	}
	for _, word := range []string{"help", "--help", "-h"} {
		if diff := cmp.Diff(help, runCommandLine(t, "", word), cmp.AllowUnexported(commandResult{})); diff != "" {
			t.Errorf("%s (-help +got):\n%s", word, diff)
		}
	}
	for _, c := range newRootCommand(&Printer{}).Commands() {
		if listed := strings.Contains(help.out, fmt.Sprintf("\n  %-11s %s\n", c.Name(), c.Short)); listed == c.Hidden {
			t.Errorf("help lists %s: %t", c.Name(), listed)
		}
	}
	if diff := cmp.Diff(runCommandLine(t, "", "token", "create", "--help"), runCommandLine(t, "", "help", "token", "create"), cmp.AllowUnexported(commandResult{})); diff != "" {
		t.Errorf("help of a subcommand (-flag +command):\n%s", diff)
	}
}

func TestHelpOfEveryCommand(t *testing.T) {
	for _, c := range allCommands(newRootCommand(&Printer{})) {
		t.Run(c.CommandPath(), func(t *testing.T) {
			got := runCommandLine(t, "", append(strings.Fields(c.CommandPath())[1:], "--help")...)
			about := stdcmp.Or(c.Long, c.Short)
			if got.code != report.Success || got.err != "" || !strings.HasPrefix(got.out, strings.TrimSpace(about)+"\n\nUsage:\n  "+c.CommandPath()) {
				t.Errorf("code %d, %s%s", got.code, got.out, got.err)
			}
			c.Flags().VisitAll(func(flag *pflag.Flag) {
				if flag.Usage == "" || !strings.Contains(got.out, "--"+flag.Name+" ") {
					t.Errorf("flag --%s is not described", flag.Name)
				}
				if strings.HasSuffix(flag.Usage, ".") || strings.Contains(got.out, "--"+flag.Name+" string") {
					t.Errorf("flag --%s: the usage %q does not name the value", flag.Name, flag.Usage)
				}
			})
			if !strings.Contains(got.out, "--output FORMAT") {
				t.Error("--output is not described")
			}
			generated := c.HasParent() && c.Parent().Name() == "completion"
			for line := range strings.Lines(got.out) {
				if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > HelpWidth && !generated {
					t.Errorf("more than %d columns: %s", HelpWidth, line)
				}
			}
		})
	}
	join := runCommandLine(t, "", "join", "--help").out
	for _, step := range bootstrap.Steps() {
		if !strings.Contains(join, fmt.Sprintf("  %-12s %s\n", step.Name, step.Description)) {
			t.Errorf("help of join does not list step %s", step.Name)
		}
	}
	for _, until := range config.UntilStates() {
		if !strings.Contains(join, until) {
			t.Errorf("help of join does not name --until %s", until)
		}
	}
}

func TestVersion(t *testing.T) {
	platform := runtime.GOOS + "/" + runtime.GOARCH
	text := "hcp-node-agent " + version + " (" + runtime.Version() + ", " + platform + ")\n"
	for _, word := range []string{"version", "--version"} {
		if diff := cmp.Diff(commandResult{report.Success, text, ""}, runCommandLine(t, "", word), cmp.AllowUnexported(commandResult{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", word, diff)
		}
	}
	got := runCommandLine(t, "", "version", "--output", "json")
	document := decodeDocument(t, got.out)
	delete(document, "commit") // exists only in builds from a repository
	want := map[string]any{
		"apiVersion": report.APIVersion, "kind": "Version", "version": version, "go": runtime.Version(), "platform": platform,
	}
	if diff := cmp.Diff(want, document); diff != "" || got.code != report.Success || got.err != "" {
		t.Errorf("code %d, %s (-want +got):\n%s", got.code, got.err, diff)
	}
}

// decodeDocument parses out, which must be one JSON document.
func decodeDocument(t *testing.T, out string) map[string]any {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(out))
	var document map[string]any
	if err := decoder.Decode(&document); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	if decoder.More() || !strings.HasSuffix(out, "}\n") {
		t.Errorf("there is more than one document: %q", out)
	}
	return document
}

func TestApply(t *testing.T) {
	root := t.TempDir()
	owner := fmt.Sprintf(`"user":{"id":%d},"group":{"id":%d}`, os.Geteuid(), os.Getegid())
	content := `{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/motd","mode":420,"contents":{"source":"data:,hello"},` + owner + `}]}}`
	got := runCommandLine(t, content, "apply", "--config", "-", "--root", root)
	if diff := cmp.Diff(commandResult{report.Success, root + " has the config now (entries: 1, changes: 1)\n", ""}, got, cmp.AllowUnexported(commandResult{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if written, err := os.ReadFile(filepath.Join(root, "motd")); err != nil || string(written) != "hello" {
		t.Errorf("%q, %v", written, err)
	}
	got = runCommandLine(t, content, "apply", "--config=-", "--root="+root, "-o", "json")
	want := map[string]any{
		"apiVersion": report.APIVersion, "kind": "ApplyResult", "root": root, "changes": 0.0, "entries": 1.0, "exitCode": 0.0,
	}
	if diff := cmp.Diff(want, decodeDocument(t, got.out)); diff != "" || got.code != report.Success || got.err != "" {
		t.Errorf("code %d, %s (-want +got):\n%s", got.code, got.err, diff)
	}

	other := strings.Replace(content, "hello", "bye", 1)
	const exists = "nothing was changed, as the config cannot be applied: /motd shall be a file, but a file is there that differs, and the entry does not say overwrite: true"
	const remedy = "# move what is in the way to another place, or set overwrite: true for the entry in the config"
	failure := "hcp-node-agent apply: " + exists + "\n" + remedy + "\n"
	got = runCommandLine(t, other, "apply", "--config", "-", "--root", root)
	if diff := cmp.Diff(commandResult{report.Failed, "", failure}, got, cmp.AllowUnexported(commandResult{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got = runCommandLine(t, other, "apply", "--config", "-", "--root", root, "--output", "json")
	want["exitCode"], want["error"], want["remedy"] = 1.0, exists, map[string]any{"note": strings.TrimPrefix(remedy, "# ")}
	if diff := cmp.Diff(want, decodeDocument(t, got.out)); diff != "" || got.code != report.Failed || got.err != failure {
		t.Errorf("code %d, %s (-want +got):\n%s", got.code, got.err, diff)
	}
}

// A join without user data fails. On a joined host it would resume, so the test is skipped there.
func TestJoinWithoutUserData(t *testing.T) {
	if _, err := os.Stat(bootstrap.StateDir); err == nil {
		t.Skipf("this machine has joined a cluster (%s): a join would be real", bootstrap.StateDir)
	}
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte("apiVersion: "+report.APIVersion+"\nkind: "+config.Kind+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const cause = "no user-data stub was given"
	const remedy = "oc -n HCP_NAMESPACE get secret user-data-NODEPOOL-HASH -o jsonpath='{.data.value}' | base64 -d > stub.ign\nhcp-node-agent join --user-data stub.ign"
	got := runCommandLine(t, "", "join", "--config", file)
	if diff := cmp.Diff(commandResult{report.Usage, "", "hcp-node-agent join: " + cause + "\n" + remedy + "\n"}, got, cmp.AllowUnexported(commandResult{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got = runCommandLine(t, "", "join", "--config", file, "--output", "json")
	want := map[string]any{
		"apiVersion": report.APIVersion, "kind": "JoinResult", "changed": false, "steps": []any{}, "exitCode": 2.0, "error": cause, "remedy": map[string]any{"command": remedy},
	}
	if diff := cmp.Diff(want, decodeDocument(t, got.out)); diff != "" || got.code != report.Usage {
		t.Errorf("code %d (-want +got):\n%s", got.code, diff)
	}
	if _, err := os.Stat(bootstrap.StateDir); err == nil {
		t.Errorf("%s was made", bootstrap.StateDir)
	}
}

func TestBadSettingsAreRefused(t *testing.T) {
	dir := t.TempDir()
	typo, good := filepath.Join(dir, "typo.yaml"), filepath.Join(dir, "good.yaml")
	for file, content := range map[string]string{
		typo: "endpiont: a\n", good: "apiVersion: " + report.APIVersion + "\nkind: " + config.Kind + "\n",
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, verb := range []string{"join", "plan", "preflight", "status", "doctor"} {
		for want, args := range map[string][]string{
			`until is "monday"`:          {"--until", "monday", "--config", good},
			`"bastion" is not HOST:PORT`: {"--verify-reach", "bastion", "--config", good},
			"networkTimeout is 5s":       {"--network-timeout", "5s", "--config", good},
			"no such file":               {"--config", filepath.Join(dir, "none.yaml")},
			"endpiont":                   {"--config", typo},
			`apiVersion is ""`:           {"--config", os.DevNull},
		} {
			got := runCommandLine(t, "", append([]string{verb}, args...)...)
			if got.code != report.Usage || !strings.Contains(got.err, want) ||
				!strings.HasPrefix(got.err, "hcp-node-agent "+verb+": configuration: ") || !strings.Contains(got.err, "\nhcp-node-agent ") {
				t.Errorf("%s %q: code %d, %s", verb, args, got.code, got.err)
			}
		}
	}
}
