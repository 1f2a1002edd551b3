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
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest/machinetest"
)

func TestDecideArgumentReboot(t *testing.T) {
	const apply, reboot = config.HostSettingsApply, config.HostSettingsReboot
	for name, test := range map[string]struct {
		facts argumentFacts
		want  rebootAction
	}{
		"booted with the arguments":             {argumentFacts{false, false, reboot, "b", "a", false}, noReboot},
		"first run":                             {argumentFacts{true, false, apply, "a", "", false}, awaitReboot},
		"first run that may reboot":             {argumentFacts{true, false, reboot, "a", "", false}, rebootNow},
		"again before the reboot":               {argumentFacts{true, false, apply, "a", "a", false}, awaitReboot},
		"killed before the reboot":              {argumentFacts{true, false, reboot, "a", "a", false}, rebootNow},
		"rebooted with other arguments":         {argumentFacts{true, false, reboot, "b", "a", false}, rebootUnchanged},
		"rebooted by hand with other arguments": {argumentFacts{true, false, apply, "b", "a", false}, rebootUnchanged},
		"a node":                                {argumentFacts{true, true, reboot, "a", "", false}, warnOfReboot},
		"rebooted, with others behind":          {argumentFacts{true, false, reboot, "b", "a", true}, warnOfOthers},
		"others behind before the reboot":       {argumentFacts{true, false, reboot, "a", "a", true}, rebootNow},
		"a node with others behind":             {argumentFacts{true, true, reboot, "b", "a", true}, warnOfOthers},
		"a node that was rebooted":              {argumentFacts{true, true, reboot, "b", "a", false}, warnOfReboot},
	} {
		if got := decideArgumentReboot(test.facts); got != test.want {
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
	run := &plan.Run{
		Request: request.Request{Config: config.Join{HostSettings: config.HostSettingsApply}}, Dir: t.TempDir(),
		State: joinstate.State{NodeName: "worker-0", Registered: true},
	}
	next := "ro quiet site=1"
	for _, step := range []struct {
		name, boot string
		arguments  []string
		want       string // of the next boot
		mustReboot bool
	}{
		{"join", "1", []string{"psi=0", "nosmt", "isolcpus=2-7"}, "ro quiet site=1 psi=0 nosmt isolcpus=2-7", true},
		{"upgrade", "1", []string{"psi=0", "mitigations=off"}, "ro quiet site=1 psi=0 mitigations=off", true},
		{"the same payload", "1", []string{"psi=0", "mitigations=off"}, "ro quiet site=1 psi=0 mitigations=off", true},
		{"after the reboot", "2", []string{"psi=0", "mitigations=off"}, "ro quiet site=1 psi=0 mitigations=off", false},
		{"rollback", "2", []string{"psi=0", "nosmt", "isolcpus=2-7"}, "ro quiet site=1 psi=0 nosmt isolcpus=2-7", true},
		{"payload without arguments", "3", nil, "ro quiet site=1", true},
	} {
		if m.Facts.BootID != step.boot {
			m.Facts.BootID, m.Facts.Cmdline = step.boot, strings.Fields(next)
		}
		next = step.want
		arguments := resource.ArgumentChange{Add: step.arguments}
		current := &plan.Plan{Plan: &adapt.Plan{NeedsReboot: !arguments.IsMet(m.Facts.Cmdline)}}
		if step.arguments != nil {
			change, err := resource.KernelArguments{}.Change("payload", arguments)
			flowtest.NoError(t, err)
			current.KernelArguments = []ledger.Change{change}
		}
		logged = nil
		_, err := bootSettings{run: run, host: m, plan: current}.setKernelArguments(t.Context(), report.Log{Sink: &logged})
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

// An update of the image reverts the arguments of the earlier payload in the deployment that it stages. The record of
// them then requires no other boot.
func TestKernelArgumentsThatAnImageHasReverted(t *testing.T) {
	change, err := resource.KernelArguments{}.Change("payload", resource.ArgumentChange{Add: []string{"y=0", "psi=1"}})
	flowtest.NoError(t, err)
	items := []ledger.Item{{Change: change, Before: ledger.State{Names: []string{"ro", "psi=0"}}}}
	for words, want := range map[string]bool{
		"ro y=0 psi=1":   true,
		"ro psi=1":       true,
		"ro psi=0":       false,
		"psi=0 z=4 ro":   false, // in another order, with other arguments
		"ro psi=0 y=1":   false, // another value, which others have added
		"ro y=0 psi=0":   true,
		"ro z=4 z=4 y=0": true,
	} {
		got, err := hasBootedArguments(items, strings.Fields(words))
		if err != nil || got != want {
			t.Errorf("%s: %t, %v", words, got, err)
		}
	}
}
