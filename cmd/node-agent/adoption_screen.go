// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
)

// printAdoption prints what join --adopt would record, nothing without --adopt.
func (s planScreen) printAdoption(adoption *plan.AdoptionDocument) {
	if adoption == nil {
		return
	}
	s.printLines("Adoption", []string{
		fmt.Sprintf("objects that join --adopt records, and that leave removes: %d", adoption.Recorded),
	})
	s.printLines("Different: join --adopt does not change it, the next join does", lists.Map(adoption.Differences,
		plan.AdoptionDifference.String))
	s.printLines("Kept by a leave", lists.Map(adoption.Kept, func(k joinstate.KeptObject) string {
		return fmt.Sprintf("%s %s: %s", k.Kind, k.Target, k.Reason)
	}))
}
