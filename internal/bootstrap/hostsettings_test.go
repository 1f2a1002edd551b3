// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
)

func TestDecideReboot(t *testing.T) {
	const apply, reboot = config.HostSettingsApply, config.HostSettingsReboot
	for name, test := range map[string]struct {
		facts rebootFacts
		want  rebootAction
	}{
		"booted with the arguments":             {rebootFacts{false, false, reboot, "b", "a"}, noReboot},
		"first run":                             {rebootFacts{true, false, apply, "a", ""}, awaitReboot},
		"first run that may reboot":             {rebootFacts{true, false, reboot, "a", ""}, rebootNow},
		"again before the reboot":               {rebootFacts{true, false, apply, "a", "a"}, awaitReboot},
		"killed before the reboot":              {rebootFacts{true, false, reboot, "a", "a"}, rebootNow},
		"rebooted with other arguments":         {rebootFacts{true, false, reboot, "b", "a"}, rebootInVain},
		"rebooted by hand with other arguments": {rebootFacts{true, false, apply, "b", "a"}, rebootInVain},
		"a node":                                {rebootFacts{true, true, reboot, "a", ""}, warnOfReboot},
		"a node that was rebooted":              {rebootFacts{true, true, reboot, "b", "a"}, warnOfReboot},
	} {
		if got := decideReboot(test.facts); got != test.want {
			t.Errorf("%s: %+v: %s, want %s", name, test.facts, got, test.want)
		}
	}
}
