// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/adapt"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger/resource"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest/machinetest"
)

func TestDecideReboot(t *testing.T) {
	const apply, reboot = config.HostSettingsApply, config.HostSettingsReboot
	for name, test := range map[string]struct {
		facts rebootFacts
		want  rebootAction
	}{
		"booted with the arguments":             {rebootFacts{false, false, reboot, "b", "a", false}, noReboot},
		"first run":                             {rebootFacts{true, false, apply, "a", "", false}, awaitReboot},
		"first run that may reboot":             {rebootFacts{true, false, reboot, "a", "", false}, rebootNow},
		"again before the reboot":               {rebootFacts{true, false, apply, "a", "a", false}, awaitReboot},
		"killed before the reboot":              {rebootFacts{true, false, reboot, "a", "a", false}, rebootNow},
		"rebooted with other arguments":         {rebootFacts{true, false, reboot, "b", "a", false}, rebootInVain},
		"rebooted by hand with other arguments": {rebootFacts{true, false, apply, "b", "a", false}, rebootInVain},
		"a node":                                {rebootFacts{true, true, reboot, "a", "", false}, warnOfReboot},
		"rebooted, with others behind":          {rebootFacts{true, false, reboot, "b", "a", true}, warnOfOthers},
		"others behind before the reboot":       {rebootFacts{true, false, reboot, "a", "a", true}, rebootNow},
		"a node with others behind":             {rebootFacts{true, true, reboot, "b", "a", true}, warnOfOthers},
		"a node that was rebooted":              {rebootFacts{true, true, reboot, "b", "a", false}, warnOfReboot},
	} {
		if got := decideReboot(test.facts); got != test.want {
			t.Errorf("%s: %+v: %s, want %s", name, test.facts, got, test.want)
		}
	}
}

// updateGrub generates the configuration of GRUB, below ROOT, from the file that the real command reads.
const updateGrub = `#!/bin/sh
. ROOT/etc/default/grub
echo "linux /boot/vmlinuz root=/dev/vda ro quiet $GRUB_CMDLINE_LINUX" >ROOT/boot/grub/grub.cfg
`

// putGrubby puts the stand-in of grubby that the test machine has into PATH. It changes the configuration
// below root.
func putGrubby(t *testing.T, root string) {
	t.Helper()
	bin := t.TempDir()
	grubby, err := os.ReadFile("../../test/image/overlay/usr/bin/grubby")
	flowtest.NoError(t, err)
	below := strings.NewReplacer("=/etc/default/grub", "="+root+"/etc/default/grub", "=/boot/grub", "="+root+"/boot/grub")
	for name, script := range map[string]string{
		"grubby":      below.Replace(string(grubby)),
		"update-grub": strings.ReplaceAll(updateGrub, "ROOT", root),
	} {
		//nolint:gosec // must be executable
		flowtest.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte(script), 0o700))
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
}

// The arguments of the next boot are the original ones and those of the current payload: an upgrade
// removes those of the earlier payload, a rollback sets them again, and arguments of others remain.
func TestKernelArgumentsFollowThePayload(t *testing.T) {
	root := t.TempDir()
	putGrubby(t, root)
	flowtest.WriteTree(t, root, map[string]string{
		"boot/grub/grub.cfg": "linux /boot/vmlinuz root=/dev/vda ro quiet site=1\n",
		"etc/default/grub":   `GRUB_CMDLINE_LINUX="site=1"` + "\n",
	})
	m := machinetest.Open(t, root)
	var logged flowtest.Events
	j := NewFlow(plan.Run{Dir: t.TempDir(), Config: config.Join{HostSettings: config.HostSettingsApply}}, m)
	j.Run.State = joinstate.State{NodeName: "worker-0", Registered: true}
	for _, step := range []struct {
		name, boot string
		arguments  []string
		want       string // of the next boot
		mustReboot bool
	}{
		{"join", "1", []string{"psi=0", "nosmt", "isolcpus=2-7"}, "ro quiet site=1 psi=0 nosmt isolcpus=2-7", false},
		{"upgrade", "1", []string{"psi=0", "mitigations=off"}, "ro quiet site=1 psi=0 mitigations=off", true},
		{"the same payload", "1", []string{"psi=0", "mitigations=off"}, "ro quiet site=1 psi=0 mitigations=off", true},
		{"after the reboot", "2", []string{"psi=0", "mitigations=off"}, "ro quiet site=1 psi=0 mitigations=off", false},
		{"rollback", "2", []string{"psi=0", "nosmt", "isolcpus=2-7"}, "ro quiet site=1 psi=0 nosmt isolcpus=2-7", true},
		{"payload without arguments", "3", nil, "ro quiet site=1", true},
	} {
		j.Host.Facts.BootID = step.boot
		j.Plan = &plan.Plan{Plan: &adapt.Plan{}}
		if step.arguments != nil {
			change, err := resource.KernelArguments{}.Change("payload", resource.ArgumentChange{Add: step.arguments})
			flowtest.NoError(t, err)
			j.Plan.KernelArguments = []ledger.Change{change}
		}
		logged = nil
		_, err := j.setKernelArguments(t.Context(), report.Log{Sink: &logged})
		flowtest.NoError(t, err)
		content, err := os.ReadFile(filepath.Join(root, "boot/grub/grub.cfg"))
		flowtest.NoError(t, err)
		got := strings.Join(strings.Fields(strings.TrimPrefix(string(content), "linux /boot/vmlinuz root=/dev/vda")), " ")
		mustReboot := strings.Contains(strings.Join(logged, "\n"), "take effect at the next boot")
		if got != step.want || mustReboot != step.mustReboot {
			t.Errorf("%s: arguments %q, want %q; reboot %t, want %t", step.name, got, step.want, mustReboot, step.mustReboot)
		}
	}
}

// Booleans and ports that a later plan does not have are reverted before its own are set.
func TestBooleansFollowThePlan(t *testing.T) {
	bin := t.TempDir()
	record := filepath.Join(bin, "record")
	script := "#!/bin/sh\necho \"$@\" >>" + record + `
shift
for setting; do case $setting in *=on) value=1 ;; *) value=0 ;; esac
	echo "$value $value" >` + bin + `/${setting%=*}; done
`
	//nolint:gosec // must be executable
	flowtest.NoError(t, os.WriteFile(filepath.Join(bin, "setsebool"), []byte(script), 0o700))
	flowtest.WriteTree(t, bin, map[string]string{"kept": "0 0", "dropped": "0 0", "new": "0 0"})
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	m := machinetest.Open(t, t.TempDir())
	drivers := m.Drivers()
	drivers.Resources[resource.BooleansKind] = resource.Booleans{Dir: bin}
	l, err := ledger.Open(t.TempDir(), drivers)
	flowtest.NoError(t, err)
	defer l.Close()
	m.Ledger = l
	j := NewFlow(plan.Run{}, m)
	for _, settings := range [][]string{{"kept=on", "dropped=on"}, {"kept=on", "new=on"}} {
		j.Plan = &plan.Plan{Plan: &adapt.Plan{HostSettings: []ledger.Change{resource.BooleanChange("test", settings...)}}}
		_, err := j.setHostSettings(t.Context(), report.Log{})
		flowtest.NoError(t, err)
	}
	got, err := os.ReadFile(record)
	flowtest.NoError(t, err)
	if want := "-P kept=on dropped=on\n-P kept=off dropped=off\n-P kept=on new=on\n"; string(got) != want {
		t.Errorf("setsebool was run as %q, want %q", got, want)
	}
}
