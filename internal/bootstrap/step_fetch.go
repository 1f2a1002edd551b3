// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"errors"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node/pods"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// fetchPayload gets the payload from the ignition server, or the payload that an earlier
// run of the same join saved. A restart never needs the token again.
func fetchPayload(ctx context.Context, j *Flow, log report.Log) (steps.Outcome, error) {
	if err := j.LoadPayload(ctx, log); err != nil {
		return steps.Outcome{}, j.discardFailedUserData(err)
	}
	if !j.Loaded.IsSaved() && j.before.Hosted && j.before.Phase() == joinstate.PhaseJoined {
		if err := j.checkSamePayload(); err != nil {
			return steps.Outcome{}, errors.Join(j.discardFailedUserData(err), joinstate.Write(j.Dir, j.before))
		}
	}
	// Save the resources to which the overrides refer. The next run may have no network
	// yet.
	if err := joinstate.SaveOverrides(j.Dir, j.Inputs.Overrides); err != nil {
		return steps.Outcome{}, err
	}
	if j.Loaded.IsSaved() {
		return steps.Unchanged("%s, stored by an earlier run", j.Loaded.Summary())
	}
	if err := joinstate.SaveFile(j.Dir, joinstate.PayloadFile, j.Payload.Raw); err != nil {
		return steps.Outcome{}, err
	}
	before := j.State.PayloadDigest
	j.State.PayloadDigest = j.Payload.Digest
	j.State.PayloadConfigHash = j.State.ConfigHash
	var err error
	if j.State.PayloadSourceDigest, err = j.Inputs.UserData.Digest(); err != nil {
		return steps.Outcome{}, err
	}
	for _, warning := range j.Payload.Warnings {
		log.Note(warning)
	}
	if before == j.Payload.Digest {
		return steps.Unchanged("%s from %s, unchanged", j.Loaded.Summary(), j.Payload.Server)
	}
	return steps.Changed("%s from %s", j.Loaded.Summary(), j.Payload.Server)
}

// renewable are the entries of a payload that a join renews on a host that has joined.
var renewable = []string{ignition.BootstrapKubeconfigPath, node.ClientCAPath, pods.PullSecretPath, crio.TrustAnchorsDir}

// checkSamePayload fails if the fetched payload differs from that of the join in more than credentials and
// CAs. Its changes can require a drain, and files that it does not contain any more must be removed.
func (j *Flow) checkSamePayload() error {
	raw, err := joinstate.LoadFile(j.Dir, joinstate.PayloadFile)
	if err != nil || raw == nil {
		return err
	}
	installed, err := ignition.LoadPayload(raw)
	if err != nil {
		return nil //nolint:nilerr // the stored payload is damaged; the fetched one replaces it
	}
	fetched, err := ignition.LoadPayload(j.Payload.Raw)
	if err != nil {
		return err
	}
	changed := slices.DeleteFunc(ignition.ChangedEntries(installed, fetched), func(name string) bool {
		return slices.ContainsFunc(renewable, func(p string) bool { return hostfs.IsWithin(name, p) })
	})
	if len(changed) == 0 {
		return nil
	}
	source := j.UserDataFile()
	return report.Fail(report.Refused,
		report.Remedyf("hcp-node-agent plan --user-data %s # prints the changes\nhcp-node-agent upgrade --user-data %s",
			source, source),
		"this is an upgrade: the payload differs from that of the join in %s", report.AbbreviateList(changed))
}

// discardFailedUserData removes user data that failed to fetch a payload from a
// host that has joined. A later join without user data then succeeds with the saved
// payload.
func (j *Flow) discardFailedUserData(err error) error {
	if j.State.Finished.IsZero() || !j.State.Hosted {
		return err
	}
	return errors.Join(err, joinstate.RemoveFiles(j.Dir, joinstate.UserDataFile))
}
