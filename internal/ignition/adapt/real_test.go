// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/ignitiontest"
)

func TestRealUserData(t *testing.T) {
	for _, name := range ignitiontest.RealPayloads(t, "stub*.ign") {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		userData, err := ignition.ParseUserData(raw)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := userData.Validate(); err != nil || !userData.HasToken() || userData.NodePool() == "" ||
			userData.ConfigHash() == "" {
			t.Errorf("%s: %v, %v", name, userData, err)
		}
		again, err := userData.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ignition.ParseUserData(again); err != nil {
			t.Errorf("%s: not read back: %v", name, err)
		}
	}
}

func TestRealPayloads(t *testing.T) {
	for _, name := range ignitiontest.RealPayloads(t, "worker-*.ign") {
		t.Run(filepath.Base(name), func(t *testing.T) {
			p := ignitiontest.LoadRealPayload(t, name)
			golden := filepath.Join("testdata/real", strings.TrimSuffix(filepath.Base(name), ".ign")+".plan")
			plan, err := ToHost(p, plainHost())
			if report.CodeOf(err) == report.Refused {
				checkGolden(t, golden, fmt.Appendf(nil, "refused: %v\n%s\n", err, report.RemedyOf(err)))
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			checkReal(t, p, plan)
			if plan, err = ToHost(p, rhelHost()); err != nil {
				t.Fatal(err)
			}
			checkGolden(t, golden, formatOutline(p, plan))
		})
	}
}

func checkReal(t *testing.T, p *ignition.Payload, plan *Plan) {
	t.Helper()
	waits := "wait-for-primary-ip.service"
	if _, _, _, found := p.Unit(waits); !found {
		waits = "wait-for-node-ip.service" // the name in 5.2
	}
	for subject, want := range map[string]string{
		ignition.MachineConfigPath:                "skip encapsulated-config",
		ignition.BootstrapKubeconfigPath:          "change secret-mode",
		"/etc/mcs-machine-config-content.json":    "change secret-mode",
		"machine-config-daemon-pull.service":      "skip os-image",
		"machine-config-daemon-firstboot.service": "skip os-image",
		"firstboot-osupdate.target":               "skip os-image",
		"nodeip-configuration.service":            "change node-ip",
		waits:                                     "change wait-for-node-ip",
		"nmstate-configuration.service":           "change nmstate-bridge",
		"ovs-configuration.service":               "report ovs-configuration",
		"apiserver-ip.service":                    "add api-address",
		"zincati.service":                         "skip not-installed",
		sysctlPath:                                "add kernel-parameters",
		"user core":                               "skip core-user-absent",
	} {
		if got := ruleFor(plan, subject); got != want {
			t.Errorf("%s: %q, want %q", subject, got, want)
		}
	}
	// Entries without a rule are written as in the payload.
	wanted := map[string]ledger.Change{}
	for _, change := range plan.Files {
		wanted[change.Target] = change
	}
	for _, file := range p.Config.Storage.Files {
		change, found := wanted[file.Path]
		if !found {
			if file.Path != ignition.MachineConfigPath {
				t.Errorf("%s is not in the plan", file.Path)
			}
			continue
		}
		content, mode, _ := p.File(file.Path)
		if string(change.Desired.Content) != string(content) ||
			(*change.Desired.Mode != mode && ruleFor(plan, file.Path) == "") {
			t.Errorf("%s is not planned as the payload has it", file.Path)
		}
	}
	if len(plan.Kubelet) != 1 || slices.ContainsFunc(plan.Units,
		func(c ledger.Change) bool { return c.Target == kubeletUnit }) {
		t.Error("kubelet's enablement is not apart")
	}
	if !slices.ContainsFunc(plan.Units,
		func(c ledger.Change) bool { return c.Target == "kubelet-auto-node-size.service" }) {
		t.Error("kubelet's node-sizing.env would not be made")
	}
	if len(plan.MissingUnits) == 0 || !strings.HasPrefix(plan.MissingUnits[0],
		"openvswitch.service (enabled by the payload; package openvswitch3.Y") {
		t.Errorf("missing units: %q", plan.MissingUnits)
	}
}

// rhelHost returns a RHEL 9 host on which the packages of a node are installed.
func rhelHost() Input {
	in := plainHost()
	in.Facts.SELinux = "enforcing"
	states := map[string]string{
		"basic.target": "static", "network-online.target": "static", "NetworkManager.service": "enabled",
		"crio.service":    "disabled",
		"chronyd.service": "enabled", "chrony-wait.service": "disabled", "firewalld.service": "enabled",
		"auditd.service":      "enabled",
		"openvswitch.service": "disabled", "ovsdb-server.service": "static", "ovs-vswitchd.service": "static",
		"rpc-statd.service": "static",
	}
	in.HasUnit = func(name string) bool { return states[name] != "" }
	in.UnitFileState = func(name string) string { return states[name] }
	return in
}

// formatOutline returns a plan without contents and digests: the action for each entry and its reason.
// Image names of the payloads are fictitious.
func formatOutline(p *ignition.Payload, plan *Plan) []byte {
	notes := slices.Clone(plan.Notes)
	if image := p.MachineConfig().OSImageURL; image != "" {
		for i := range notes {
			notes[i].Reason = strings.ReplaceAll(notes[i].Reason, image, "IMAGE")
		}
	}
	return formatSections(plan, notes, func(c ledger.Change) string {
		state := "absent"
		switch {
		case c.Desired.Enabled != "":
			state = c.Desired.Enabled
		case c.Desired.Value != "":
			state = c.Desired.Value
		case c.Desired.Link != "":
			state = "to " + c.Desired.Link
		case c.Desired.Mode != nil:
			state = fmt.Sprintf("%04o", *c.Desired.Mode)
		case c.Desired.Present:
			state = "present"
		}
		return fmt.Sprintf("  %s %s %s (%s)\n", c.Kind, c.Target, state, c.Reason)
	})
}
