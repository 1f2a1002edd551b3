// SPDX-License-Identifier: Apache-2.0

package bootstrap

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

// KeepVersions records the versions of packages that an upgrade replaces in the previous generation, so
// that a rollback installs exactly them. The OS image of the previous payload can have others.
func (j *Flow) KeepVersions(replaced []software.Choice) error {
	if u := j.Run.State.Upgrade; u == nil || u.RollingBack != "" || u.SameGeneration || len(replaced) == 0 {
		return nil
	}
	previous, err := joinstate.LoadGeneration(j.Run.Dir, joinstate.PreviousFile)
	if err != nil {
		return err
	}
	contents, err := previous.Software()
	if err != nil || contents == nil {
		return err
	}
	for _, c := range replaced {
		contents.ReplaceVersion(c)
	}
	if err := previous.SetSoftware(*contents); err != nil {
		return err
	}
	return previous.Save(j.Run.Dir, joinstate.PreviousFile)
}

// RemoveUnusedSoftware removes unpacked software, except for that of the payload, of the previous
// generation, and of a staged upgrade.
func (j *Flow) RemoveUnusedSoftware(ctx context.Context) error {
	used := []*software.Contents{j.Software.Contents}
	if previous, err := joinstate.LoadGeneration(j.Run.Dir, joinstate.PreviousFile); err != nil {
		return err
	} else if previous != nil {
		contents, err := previous.Software()
		if err != nil {
			return err
		}
		used = append(used, contents)
	}
	if j.Run.State.Staged != nil {
		used = append(used, j.Run.State.Staged.Software)
	}
	remove := osimage.Unused(j.Host.Ledger.Items(), used...)
	if len(remove) == 0 {
		return nil
	}
	log := report.Log{Sink: j.Run.Sink, Step: steps.Packages}
	isUnused := func(item ledger.Item) bool { return item.Kind == osimage.Kind && slices.Contains(remove, item.Target) }
	if _, err := j.Host.Ledger.RevertAndWarn(ctx, log, isUnused); err != nil {
		return fmt.Errorf("removing %s: %w", strings.Join(remove, ", "), err)
	}
	return nil
}
