// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"errors"

	"github.com/hcp-node-agent/hcp-node-agent/internal/inputs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// fetchPayload gets the payload from the ignition server, or the payload that an earlier
// run of the same join saved. A restart never needs the token again.
func fetchPayload(ctx context.Context, j *join, log report.Log) (steps.Outcome, error) {
	kept, err := j.LoadPayload(ctx, log)
	if err != nil {
		return steps.Outcome{}, j.discardFailedUserData(err)
	}
	// Save the resources to which the overrides refer. The next run may have no network
	// yet.
	if err := inputs.SaveOverrides(j.Dir, j.Inputs.Overrides); err != nil {
		return steps.Outcome{}, err
	}
	if kept {
		return steps.Unchanged("%s, stored by an earlier run", j.PayloadSummary())
	}
	if err := joinstate.SaveFile(j.Dir, joinstate.PayloadFile, j.Payload.Raw); err != nil {
		return steps.Outcome{}, err
	}
	before := j.State.PayloadDigest
	j.State.PayloadDigest = j.Payload.Digest
	j.State.PayloadConfigHash = j.State.ConfigHash
	if j.State.PayloadSourceDigest, err = j.Inputs.UserData.Digest(); err != nil {
		return steps.Outcome{}, err
	}
	for _, warning := range j.Payload.Warnings {
		log.Note(warning)
	}
	if before == j.Payload.Digest {
		return steps.Unchanged("%s from %s, unchanged", j.PayloadSummary(), j.Payload.Server)
	}
	return steps.Changed("%s from %s", j.PayloadSummary(), j.Payload.Server)
}

// discardFailedUserData removes user data that failed to fetch a payload from a
// host that has joined. A later join without user data then succeeds with the saved
// payload.
func (j *join) discardFailedUserData(err error) error {
	if j.State.Finished.IsZero() || !j.State.Hosted {
		return err
	}
	return errors.Join(err, joinstate.RemoveFiles(j.Dir, joinstate.UserDataFile))
}
