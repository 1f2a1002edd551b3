package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
	"github.com/hcp-node-agent/hcp-node-agent/internal/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/selinux"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
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
func runSubcommand(t *testing.T, create func(*printer) *cobra.Command, args ...string) commandResult {
	t.Helper()
	dir := writeTempFiles(t, map[string]string{"config.yaml": configHead, "user-data.ign": unreachableUserData(t)})
	var out, errs bytes.Buffer
	p := &printer{ioStreams: ioStreams{in: strings.NewReader(""), out: &out, err: &errs}}
	root := &cobra.Command{Use: programName, SilenceErrors: true, SilenceUsage: true}
	p.bindFlags(root)
	c := create(p)
	root.AddCommand(c)
	args = append([]string{c.Name(), "--config", filepath.Join(dir, "config.yaml"), "--user-data", filepath.Join(dir, "user-data.ign")}, args...)
	code := execute(t.Context(), root, p, args)
	return commandResult{code, out.String(), errs.String()}
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
	create := func(p *printer) *cobra.Command {
		return newReportCommand(p, "status", "", func(ctx context.Context, options bootstrap.Options) (bootstrap.StatusDocument, error) {
			options.StateDir = stateDir
			return bootstrap.Status(ctx, options)
		}, printStatus)
	}
	got := runSubcommand(t, create)
	want := "  changes on this host     2\n  drift                    1\n    file " + changed +
		"\n      expected: 17 bytes, sha256 DIGEST, mode 0600\n      current:  7 bytes, sha256 DIGEST, mode 0600\n"
	if got.code != report.DriftFound || !strings.Contains(digestPattern.ReplaceAllString(got.out, "sha256 DIGEST"), want) {
		t.Errorf("code %d, printed:\n%s%s\nwant code %d and:\n%s", got.code, got.out, got.err, report.DriftFound, want)
	}
	if want := "hcp-node-agent status: drift: 1 of 2 items differ\nhcp-node-agent join\n"; got.err != want {
		t.Errorf("printed to stderr: %q, want %q", got.err, want)
	}
	got = runSubcommand(t, create, "-o", "json")
	document := decodeDocument(t, got.out)
	drift, _ := document["drift"].([]any)
	if got.code != report.DriftFound || document["exitCode"] != float64(report.DriftFound) || len(drift) != 1 {
		t.Errorf("JSON: code %d, %s", got.code, got.out)
	}
}

func TestFailedPreflightPrintsItsTable(t *testing.T) {
	t.Setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent") // causes one check to fail
	got := runSubcommand(t, newPreflightCommand)
	if got.code != report.Refused {
		t.Errorf("exit code %d, want %d", got.code, report.Refused)
	}
	for _, want := range []string{" checks, ", "  error    systemd: ", "  error    networkmanager: "} {
		if !strings.Contains(got.out, want) {
			t.Errorf("no %q in:\n%s", want, got.out)
		}
	}
	if !strings.HasPrefix(got.err, "hcp-node-agent preflight: a join would be refused: ") {
		t.Errorf("printed to stderr: %q", got.err)
	}
	document := decodeDocument(t, runSubcommand(t, newPreflightCommand, "-o", "json").out)
	if findings, _ := document["findings"].([]any); document["exitCode"] != float64(report.Refused) || len(findings) < 2 {
		t.Errorf("JSON: %v", document)
	}
}

func TestPlanWithoutSystemdNamesSystemd(t *testing.T) {
	t.Setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent")
	got := runSubcommand(t, newPlanCommand)
	if got.code != report.Refused || !strings.Contains(got.err, "systemd does not answer on the system bus") {
		t.Errorf("code %d: %s", got.code, got.err)
	}
}
