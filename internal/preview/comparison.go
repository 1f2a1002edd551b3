// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"github.com/hcp-node-agent/hcp-node-agent/internal/kinds"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// ObsoleteObject is an object that an earlier payload added to the host.
type ObsoleteObject struct {
	Kind   ledger.Kind `json:"kind" doc:"kind of the object, such as file, link, unit or sysctl"`
	Target string      `json:"target" doc:"path or name of the object"`
}

// countUnchanged returns the number of objects that are requested and not pending.
func countUnchanged(requested []ledger.Change, pending []ledger.PlannedChange) int {
	unchanged := map[string]bool{}
	for _, change := range requested {
		unchanged[change.Key()] = kinds.GroupOf(change) != kinds.GroupOther
	}
	for _, change := range pending {
		delete(unchanged, change.Key())
	}
	n := 0
	for _, counts := range unchanged {
		if counts {
			n++
		}
	}
	return n
}
