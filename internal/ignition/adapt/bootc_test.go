// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"slices"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// The payload is adapted to a bootc host as to a host in package mode. In addition, bootc must not reboot the node, and
// remedies name the tools of such a host.
func TestAdaptToBootcHost(t *testing.T) {
	onPackages, err := ToHost(workerPayload(t), plainHost())
	if err != nil {
		t.Fatal(err)
	}
	in := plainHost()
	in.Facts.OSTree = true
	hasUnit := in.HasUnit
	in.HasUnit = func(name string) bool { return name == imageUpdateService || hasUnit(name) }
	plan, err := ToHost(workerPayload(t), in)
	if err != nil {
		t.Fatal(err)
	}
	added := slices.DeleteFunc(slices.Clone(plan.Files), func(change ledger.Change) bool {
		return slices.ContainsFunc(onPackages.Files, func(c ledger.Change) bool { return c.Target == change.Target })
	})
	const dropIn = "/etc/systemd/system/bootc-fetch-apply-updates.service.d/90-hcp-node-agent.conf"
	if len(plan.Files) != len(onPackages.Files)+1 || len(added) != 1 || added[0].Target != dropIn ||
		ruleFor(plan, dropIn) != "add image-updates" {
		t.Errorf("%d files, %d in package mode; additional ones: %v", len(plan.Files), len(onPackages.Files), added)
	}
	for _, note := range plan.Notes {
		command := note.Remedy.Command()
		if strings.HasPrefix(command, "dnf ") || strings.HasPrefix(command, "grubby ") {
			t.Errorf("%s: remedy %q", note.Subject, command)
		}
		if note.Rule == "os-image" && note.Action == Unsupported && !strings.Contains(note.Reason, "keeps its own image") {
			t.Errorf("reason %q", note.Reason)
		}
	}
}
