// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/clitest"
)

func TestCommandsOfTheReadmeExist(t *testing.T) {
	agent().CheckReadmeCommands(t, "../../README.md", "command", 9)
}

// Scripts and the systemd unit depend on exit codes. The documentation and the help must list all of
// them with the same meanings.
func TestTroubleshootingListsTheExitCodes(t *testing.T) {
	var want [][2]string
	help := runCommandLine(t, "", "help").Out
	for _, exit := range report.ExitStatuses() {
		want = append(want, [2]string{strconv.Itoa(int(exit.Code)), exit.Meaning})
		if !strings.Contains(help, fmt.Sprintf("\n  %-4d %s\n", exit.Code, exit.Short)) {
			t.Errorf("help does not list %d %s", exit.Code, exit.Short)
		}
	}
	if diff := cmp.Diff(want, clitest.ReadmeTable(t, "../../docs/troubleshooting.md", "exit code")); diff != "" {
		t.Errorf("(-table +README):\n%s", diff)
	}
}

// The unit must not restart after permanent errors, and must restart after others.
func TestUnitDoesNotRestartAfterPermanentErrors(t *testing.T) {
	content, err := os.ReadFile("../../systemd/hcp-node-agent.service")
	if err != nil {
		t.Fatal(err)
	}
	for setting, codes := range map[string][]report.Code{
		"RestartPreventExitStatus": {
			report.Usage, report.Refused, report.CredentialRefused, report.NetworkRolledBack, report.RebootNeeded,
		},
		// An interruption is not a failure, and Restart=on-failure does not apply to it.
		"SuccessExitStatus":      {report.Interrupted},
		"RestartForceExitStatus": {report.Interrupted},
	} {
		match := regexp.MustCompile(`(?m)^` + setting + `=(.*)$`).FindStringSubmatch(string(content))
		if match == nil {
			t.Fatalf("the unit has no %s", setting)
		}
		var want []string
		for _, code := range codes {
			want = append(want, strconv.Itoa(int(code)))
		}
		if diff := cmp.Diff(want, strings.Fields(match[1])); diff != "" {
			t.Errorf("%s (-want +unit):\n%s", setting, diff)
		}
	}
}

// The unit's hardening must not prevent what rpm's scriptlets, kernel modules, mounts and the
// migration of the uplink need. The unit has a comment for each such option.
func TestUnitHardeningLetsTheJoinWork(t *testing.T) {
	content, err := os.ReadFile("../../systemd/hcp-node-agent.service")
	if err != nil {
		t.Fatal(err)
	}
	for _, option := range []string{
		"NoNewPrivileges", "RestrictSUIDSGID", "RestrictNamespaces", "MemoryDenyWriteExecute", "PrivateDevices",
		"DevicePolicy", "PrivateTmp",
		"ProtectSystem", "ProtectHome", "ProtectClock", "ProtectHostname", "ProtectKernelModules", "ProtectKernelTunables",
		"PrivateUsers", "UMask",
	} {
		if regexp.MustCompile(`(?m)^` + option + `=`).Match(content) {
			t.Errorf("the unit sets %s", option)
		}
		if !regexp.MustCompile(`(?m)^#.*\b` + option + `\b`).Match(content) {
			t.Errorf("the unit does not say why it does not set %s", option)
		}
	}
	filter := regexp.MustCompile(`(?m)^SystemCallFilter=(.*)\nSystemCallErrorNumber=EPERM$`).FindSubmatch(content)
	if filter == nil || !strings.HasPrefix(string(filter[1]), "~") ||
		regexp.MustCompile(`@(mount|module|privileged|resources|chown|setuid)\b`).Match(filter[1]) {
		t.Errorf("the system calls are filtered by %q", filter)
	}
	dangerous := regexp.MustCompile(`CAP_(SYS_MODULE|SYS_ADMIN|NET_ADMIN|CHOWN|FOWNER|SETUID|SETGID|SETFCAP|MKNOD|` +
		`AUDIT_WRITE|MAC_ADMIN|DAC_\w+|LINUX_IMMUTABLE)\b`)
	kept := regexp.MustCompile(`(?m)^CapabilityBoundingSet=(.*)$`).FindSubmatch(content)
	if kept == nil || !strings.HasPrefix(string(kept[1]), "~") || dangerous.Match(kept[1]) {
		t.Errorf("the capabilities are %q", kept)
	}
}

// The documented examples of an override and of a configuration file are valid.
func TestOverrideExamplesAreValid(t *testing.T) {
	content, err := os.ReadFile("../../docs/customize-payload.md")
	if err != nil {
		t.Fatal(err)
	}
	block := func(language string) []byte {
		_, rest, _ := strings.Cut(string(content), "```"+language+"\n")
		text, _, found := strings.Cut(rest, "```")
		if !found {
			t.Fatalf("the page has no block of %s", language)
		}
		return []byte(text)
	}
	if err := ignition.CheckOverride("example", block("json site.ign")); err != nil {
		t.Error(err)
	}
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, block("yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	join, err := config.Load(config.Source{File: file})
	if err != nil || len(join.IgnitionOverrides) != 1 || len(join.Payload.Exclude) != 1 {
		t.Errorf("%+v, %v", join, err)
	}
}
