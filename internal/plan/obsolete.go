// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kinds"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// ObsoleteItems returns the objects that earlier payloads added and that are not requested any more,
// and the settings of which less is requested. An upgrade reverts them, a join does not. Directories
// are not included.
func ObsoleteItems(items []ledger.Item, requested []ledger.Change) []ledger.Item {
	keys := map[string]bool{}
	for _, change := range requested {
		keys[change.Key()] = true
	}
	var obsolete []ledger.Item
	for _, item := range items {
		isOfPayload := steps.FindJoinStep(item.Step).OwnsPayload && kinds.GroupOf(item.Change) != kinds.GroupOther
		isObsolete := !keys[item.Key()] || SetsMore(item, requested)
		if isOfPayload && item.Kind != ledger.Directory && item.Desired.Present && isObsolete {
			obsolete = append(obsolete, item)
		}
	}
	return obsolete
}

// SetsMore reports whether an item with members, such as kernel arguments, has set some that the
// requested change of the same object does not contain. The item must then be reverted before the
// change is made.
func SetsMore(item ledger.Item, requested []ledger.Change) bool {
	if !kinds.Of(item.Kind).HasMembers {
		return false
	}
	return slices.ContainsFunc(requested, func(change ledger.Change) bool {
		return change.Key() == item.Key() && slices.ContainsFunc(item.Desired.Names, func(name string) bool {
			return !slices.Contains(change.Desired.Names, name)
		})
	})
}
