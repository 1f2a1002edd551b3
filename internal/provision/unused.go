// SPDX-License-Identifier: Apache-2.0

package provision

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software/osimage"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// RemoveUnused removes unpacked software, except for that of the payload, of the previous
// generation, and of a staged upgrade.
func (p Packages) RemoveUnused(ctx context.Context) error {
	used := []*software.Contents{p.Software.Contents}
	if previous, err := joinstate.LoadGeneration(p.Run.Dir, joinstate.PreviousFile); err != nil {
		return err
	} else if previous != nil {
		contents, err := previous.Software()
		if err != nil {
			return err
		}
		used = append(used, contents)
	}
	if p.Run.State.Staged != nil {
		used = append(used, p.Run.State.Staged.Software)
	}
	remove := osimage.Unused(p.Host.Ledger.Items(), used...)
	if len(remove) == 0 {
		return nil
	}
	log := report.Log{Sink: p.Run.Sink, Step: steps.Packages}
	isUnused := func(item ledger.Item) bool { return item.Kind == osimage.Kind && slices.Contains(remove, item.Target) }
	if _, err := p.Host.Ledger.RevertAndWarn(ctx, log, isUnused); err != nil {
		return fmt.Errorf("removing %s: %w", strings.Join(remove, ", "), err)
	}
	return nil
}
