// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

const fileHeader = "apiVersion: hcp-node-agent.io/v1alpha1\nkind: JoinConfig\n"

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func parsedFlags(t *testing.T, args ...string) *pflag.FlagSet {
	t.Helper()
	join := Defaults()
	flags := FlagSet(&join)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return flags
}

func TestLaterSourceOverridesEarlier(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	write(t, file, fileHeader+"endpoint: file\nnodePool: a/file\ncaFile: file\nbridgeInterface: file\ntimeout: 5m\n")
	write(t, filepath.Join(filepath.Dir(file), "config.d/10-a.yaml"),
		fileHeader+"nodePool: a/drop-in\ncaFile: drop-in\nbridgeInterface: drop-in\n")
	environment := []string{
		"HCP_NODE_AGENT_CA_FILE=environment", "HCP_NODE_AGENT_BRIDGE_INTERFACE=environment", "PATH=/bin",
	}
	join, err := Load(Source{
		File:        file,
		Environment: environment,
		Flags:       parsedFlags(t, "--bridge-interface", "flag", "--skip", "network,packages"),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := Join{
		APIVersion: report.APIVersion, Kind: Kind, Endpoint: "file", NodePool: "a/drop-in", CAFile: "environment",
		BridgeInterface: "flag", Software: "auto", Until: "schedulable", Timeout: Duration(5 * time.Minute),
		Skip:           []string{"network", "packages"},
		NetworkTimeout: Duration(90 * time.Second), HostSettings: HostSettingsReport,
	}
	if diff := cmp.Diff(want, join); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestInvalidConfigurationIsUsageError(t *testing.T) {
	for name, test := range map[string]struct{ content, want string }{
		"unknown field": {fileHeader + "endpiont: x\n", "endpiont"},
		"no version":    {"endpoint: x\n", "apiVersion"},
		"bad duration":  {fileHeader + "timeout: soon\n", "duration"},
		"bad until":     {fileHeader + "until: monday\n", "monday"},
		"not YAML":      {"{", "did not find expected node content"},
		"bad peer":      {fileHeader + "verifyReach: [bastion]\n", `invalid value "bastion": must be HOST:PORT`},
		"bad time": {
			fileHeader + "networkTimeout: 1h\n", `networkTimeout: invalid value "1h": must be from 30s to 10m0s`,
		},
		"bad pattern": {fileHeader + "payload: {drop: ['/etc/[']}\n", "a bracket or a backslash has no end"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "config.yaml")
			write(t, file, test.content)
			_, err := Load(Source{File: file, Flags: parsedFlags(t)})
			if err == nil || !strings.Contains(err.Error(), test.want) || report.CodeOf(err) != report.Usage {
				t.Errorf("error %v, code %d", err, report.CodeOf(err))
			}
		})
	}
}

func TestMissingFileIsErrorOnlyIfRequired(t *testing.T) {
	source := Source{File: filepath.Join(t.TempDir(), "config.yaml"), Flags: parsedFlags(t)}
	if _, err := Load(source); err != nil {
		t.Error(err)
	}
	source.Required = true
	if _, err := Load(source); err == nil {
		t.Error("a file that was named and is missing is no error")
	}
}

// Several problems are not one long sentence: the error has the first, and the command that prints all.
func TestLoadReportsSeveralProblems(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bad.yaml")
	write(t, file, fileHeader+"bridgeInterfac: eth0\nendpiont: a\n")
	for name, test := range map[string]struct {
		environment   []string
		message, want string
	}{
		"in one file": {
			nil, file + " has 2 problems; the first: line 3: bridgeInterfac: unknown setting",
			"hcp-node-agent config validate " + file + " # prints all problems",
		},
		"also in the environment": {
			[]string{EnvironmentPrefix + "TIMEOT=1h"},
			"the configuration has 3 problems; the first: " + file + ":3:1: ",
			"hcp-node-agent config validate --config " + file + " # prints all problems",
		},
	} {
		_, err := Load(Source{File: file, Environment: test.environment})
		if err == nil || !strings.HasPrefix(err.Error(), test.message) || string(report.RemedyOf(err)) != test.want {
			t.Errorf("%s: Load() = %v, remedy %s", name, err, report.RemedyOf(err))
		}
	}
}
