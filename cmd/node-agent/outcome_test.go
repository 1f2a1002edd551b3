// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/base64"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/selinux"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/clitest"
)

// unreachableUserData returns user data with an Ignition server that refuses every connection.
func unreachableUserData(t *testing.T) string {
	t.Helper()
	ca := "data:;base64," + base64.StdEncoding.EncodeToString(certtest.NewCA(t, "ca").PEM)
	return `{"ignition":{"version":"3.2.0","config":{"merge":[{"source":"https://127.0.0.1:1/ignition","httpHeaders":[` +
		`{"name":"Authorization","value":"Bearer dG9rZW4="},{"name":"NodePool","value":"clusters/demo"},` +
		`{"name":"TargetConfigVersionHash","value":"abc"}]}]},` +
		`"security":{"tls":{"certificateAuthorities":[{"source":"` + ca + `"}]}}}}`
}

// runSubcommand runs one command with a configuration file that sets nothing.
func runSubcommand(t *testing.T, create func(*cli.Printer) *cobra.Command, args ...string) clitest.Result {
	t.Helper()
	dir := writeTempFiles(t, map[string]string{"config.yaml": configHead, "user-data.ign": unreachableUserData(t)})
	var out, errs bytes.Buffer
	p := newPrinter(cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
	root := &cobra.Command{Use: programName, SilenceErrors: true, SilenceUsage: true}
	p.BindFlags(root)
	c := create(p)
	root.AddCommand(c)
	args = append([]string{
		c.Name(), "--config", filepath.Join(dir, "config.yaml"), "--user-data", filepath.Join(dir, "user-data.ign"),
	}, args...)
	code := cli.Execute(t.Context(), root, p, args)
	return clitest.Result{Code: code, Out: out.String(), Err: errs.String()}
}

// newDriftedState returns a state directory whose ledger records two files. The first one was changed
// afterwards.
func newDriftedState(t *testing.T) (stateDir, changed string) {
	t.Helper()
	stateDir, dir := t.TempDir(), t.TempDir()
	changed = filepath.Join(dir, "changed.conf")
	tree, err := hostfs.OpenTree("/")
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	paths := &ledger.Paths{Tree: tree, SELinux: selinux.Policy{Tree: tree}}
	l, err := ledger.Open(stateDir, ledger.Drivers{Paths: paths})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var changes []ledger.Change
	for _, path := range []string{changed, filepath.Join(dir, "kept.conf")} {
		changes = append(changes, ledger.Change{
			Kind: ledger.File, Target: path, Reason: "payload", Desired: ledger.FileState([]byte("from the payload\n"), 0o600),
		})
	}
	if _, err := l.Apply(t.Context(), "files", changes); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(changed, []byte("edited\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return stateDir, changed
}

var digestPattern = regexp.MustCompile(`sha256 [0-9a-f]+`)

func TestStatusListsDriftAndExitsWithItsCode(t *testing.T) {
	stateDir, changed := newDriftedState(t)
	create := func(p *cli.Printer) *cobra.Command {
		c := newStatusCommand(p)
		settingFlags(c, "user-data") // given by runSubcommand
		c.RunE = func(c *cobra.Command, _ []string) error { return showStatus(c.Context(), p, stateDir) }
		return c
	}
	got := runSubcommand(t, create)
	want := "  drift           1 of 2 changes of the join differ\n    ~  file " + changed +
		"\n         expected: 17 bytes, sha256 DIGEST, mode 0600\n         current:  7 bytes, sha256 DIGEST, mode 0600\n"
	if got.Code != report.DriftFound || !strings.Contains(digestPattern.ReplaceAllString(got.Out, "sha256 DIGEST"), want) {
		t.Errorf("code %d, printed:\n%s%s\nwant code %d and:\n%s", got.Code, got.Out, got.Err, report.DriftFound, want)
	}
	if want := "hcp-node-agent status: drift: 1 of 2 items differ\n# remedy:\nhcp-node-agent join\n"; got.Err != want {
		t.Errorf("printed to stderr: %q, want %q", got.Err, want)
	}
	got = runSubcommand(t, create, "-o", "json")
	document := clitest.DecodeDocument(t, got.Out)
	drift, _ := document["drift"].([]any)
	if got.Code != report.DriftFound || document["exitCode"] != float64(report.DriftFound) || len(drift) != 1 {
		t.Fatalf("JSON: code %d, %s", got.Code, got.Out)
	}
	// The document keeps its kind and has the failure, and its changes have no fields of the ledger.
	one, _ := drift[0].(map[string]any)
	keys := slices.Sorted(maps.Keys(one))
	if document["kind"] != "Status" || document["error"] != "drift: 1 of 2 items differ" ||
		!slices.Equal(keys, []string{"desired", "kind", "now", "reason", "step", "target"}) {
		t.Errorf("kind %q, error %q, keys %v", document["kind"], document["error"], keys)
	}
}

func TestFailedPreflightPrintsItsTable(t *testing.T) {
	t.Setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent") // causes one check to fail
	got := runSubcommand(t, newPreflightCommand)
	if got.Code != report.Refused {
		t.Errorf("exit code %d, want %d", got.Code, report.Refused)
	}
	for _, want := range []string{" checks, ", "  problem  systemd  ", "  problem  networkmanager  "} {
		if !strings.Contains(got.Out, want) {
			t.Errorf("no %q in:\n%s", want, got.Out)
		}
	}
	if !strings.HasPrefix(got.Err, "hcp-node-agent preflight: join would fail: ") {
		t.Errorf("printed to stderr: %q", got.Err)
	}
	document := clitest.DecodeDocument(t, runSubcommand(t, newPreflightCommand, "-o", "json").Out)
	if findings, _ := document["findings"].([]any); document["exitCode"] != float64(report.Refused) || len(findings) < 2 {
		t.Errorf("JSON: %v", document)
	}
}

// Without user data, the checks of the host run, and a note names the one that did not.
func TestPreflightWithoutUserData(t *testing.T) {
	t.Setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent")
	got := runCommandLine(t, "", "preflight", "--config",
		filepath.Join(writeTempFiles(t, map[string]string{"config.yaml": configHead}), "config.yaml"))
	for _, want := range []string{
		" checks, ", "  problem  systemd  ",
		"  note     endpoint             not checked: no user data was given (--user-data FILE)\n",
	} {
		if got.Code != report.Refused || !strings.Contains(got.Out, want) {
			t.Errorf("code %d, no %q in:\n%s%s", got.Code, want, got.Out, got.Err)
		}
	}
}

func TestPlanWithoutSystemdNamesSystemd(t *testing.T) {
	t.Setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent")
	got := runSubcommand(t, newPlanCommand)
	if got.Code != report.Refused || !strings.Contains(got.Err, "systemd does not respond on the system bus") {
		t.Errorf("code %d: %s", got.Code, got.Err)
	}
}
