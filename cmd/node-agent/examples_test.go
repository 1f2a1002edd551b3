// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/autojoin"
	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
)

// cloudConfig has the cloud-init settings that the examples use.
type cloudConfig struct {
	Hostname   string                    `json:"hostname,omitempty"`
	FQDN       string                    `json:"fqdn,omitempty"`
	Repos      map[string]map[string]any `json:"yum_repos"`
	WriteFiles []struct {
		Path        string `json:"path"`
		Permissions string `json:"permissions"`
		Encoding    string `json:"encoding,omitempty"`
		Content     string `json:"content"`
	} `json:"write_files"`
	Subscription struct {
		ActivationKey string   `json:"activation-key"`
		Org           string   `json:"org"`
		EnableRepo    []string `json:"enable-repo"`
	} `json:"rh_subscription"`
	Packages []string   `json:"packages,omitempty"`
	RunCmd   [][]string `json:"runcmd"`
}

// The cloud-init examples install the package, restrict secrets to root, run existing command
// lines, and do not wait for services that wait for cloud-init.
func TestCloudInitExamples(t *testing.T) {
	files, err := filepath.Glob("../../examples/cloud-init/*.yaml")
	if err != nil || len(files) < 6 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		if filepath.Base(name) == "network-config.yaml" {
			continue
		}
		t.Run(filepath.Base(name), func(t *testing.T) {
			content, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			checkCloudConfig(t, content)
		})
	}
}

// checkCloudConfig checks cloud-init user data, and returns it.
func checkCloudConfig(t *testing.T, content []byte) cloudConfig {
	t.Helper()
	var c cloudConfig
	if err := yaml.UnmarshalStrict(content, &c); err != nil || !strings.HasPrefix(string(content), "#cloud-config\n") {
		t.Fatalf("%v:\n%s", err, content)
	}
	if c.Repos["hcp-node-agent"]["gpgcheck"] != true {
		t.Error("packages are not checked")
	}
	// cloud-init's class for RHEL has prefer_fqdn, and otherwise queries the cloud's
	// metadata.
	if c.FQDN != c.Hostname {
		t.Errorf("on RHEL the name is set to %q, not to %q", c.FQDN, c.Hostname)
	}
	installed := slices.Contains(c.Packages, "hcp-node-agent")
	for _, file := range c.WriteFiles {
		if file.Permissions != "0600" {
			t.Errorf("%s is %s", file.Path, file.Permissions)
		}
		if strings.HasSuffix(file.Path, ".yaml") {
			checkConfigLoads(t, file.Content)
		}
	}
	for _, command := range c.RunCmd {
		installed = installed || slices.Equal(command, []string{"dnf", "install", "-y", "hcp-node-agent"})
		if command[0] == "systemctl" && !slices.Contains(command, "--no-block") {
			t.Errorf("%q waits for cloud-init, which waits for it", command)
		}
		if command[0] == "hcp-node-agent" {
			if _, err := agent().ParseLine(command[1:]); err != nil {
				t.Errorf("%q: %v", command, err)
			}
		}
	}
	if !installed {
		t.Error("the package is not installed")
	}
	checkFailuresStopScript(t, c.RunCmd)
	return c
}

// checkFailuresStopScript checks that a failing command ends the script. It runs commands as cloud-init does, as
// one script, with commands in PATH that do nothing. Each command fails in turn.
func checkFailuresStopScript(t *testing.T, commands [][]string) {
	t.Helper()
	dir := t.TempDir()
	script := ""
	var programs []string
	for _, command := range commands {
		script += "'" + strings.Join(command, "' '") + "'\n"
		if command[0] == "set" {
			continue // a shell builtin
		}
		programs = append(programs, command[0])
		content := "#!/bin/sh\necho ${0##*/}\n[ ${0##*/} != \"$FAILS\" ]\n"
		err := os.WriteFile(filepath.Join(dir, command[0]), []byte(content), 0o700) //nolint:gosec // it is run
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, name := range append(slices.Clone(programs), "none") {
		run := exec.CommandContext(t.Context(), "/bin/sh", "-c", script)
		run.Env = []string{"PATH=" + dir, "FAILS=" + name}
		out, err := run.Output()
		if diff := cmp.Diff(programs[:min(i+1, len(programs))], strings.Fields(string(out))); diff != "" ||
			(err != nil) != (i < len(programs)) {
			t.Errorf("%s fails: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func checkConfigLoads(t *testing.T, content string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Load(config.Source{File: file, Required: true}); err != nil {
		t.Error(err)
	}
}

// The packaged configuration file is valid, as it is and with each commented setting enabled.
func TestPackagedConfiguration(t *testing.T) {
	content, err := os.ReadFile("../../packaging/rpm/config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	checkConfigLoads(t, string(content))
	settings := regexp.MustCompile(`(?m)^#(\w+:)`)
	if !settings.Match(content) {
		t.Error("it shows no setting")
	}
	checkConfigLoads(t, settings.ReplaceAllString(string(content), "$1"))
}

// The conditions of the units name the files that the service reads.
func TestUnitConditionsNameTheFirstBootFiles(t *testing.T) {
	for unit, key := range map[string]string{
		"hcp-node-agent.path":    "PathChanged=",
		"hcp-node-agent.service": "ConditionPathExists=|",
	} {
		content, err := os.ReadFile("../../systemd/" + unit)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{"user-data.ign", "node.token"} {
			if !strings.Contains(string(content), "\n"+key+autojoin.DefaultDir+"/"+file+"\n") {
				t.Errorf("%s does not look for %s", unit, file)
			}
		}
	}
}
