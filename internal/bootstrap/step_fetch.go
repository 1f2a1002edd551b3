package bootstrap

import (
	"context"
	"errors"
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// fetchPayload gets the payload from the ignition server, or the payload that an earlier
// run of the same join saved. A restart never needs the token again.
func fetchPayload(ctx context.Context, j *operation, log report.Log) (outcome, error) {
	kept, err := j.loadPayload(ctx, log)
	if err != nil {
		return outcome{}, j.discardFailedUserData(err)
	}
	// Save the resources to which the overrides refer. The next run may have no network
	// yet.
	if err := saveOverrides(j.dir, j.inputs.overrides); err != nil {
		return outcome{}, err
	}
	if kept {
		return unchanged("%s, kept from an earlier run", j.payloadSummary())
	}
	if err := saveFile(j.dir, payloadFile, j.payload.Raw); err != nil {
		return outcome{}, err
	}
	before := j.state.PayloadDigest
	j.state.PayloadDigest = j.payload.Digest
	j.state.PayloadConfigHash = j.state.ConfigHash
	if j.state.PayloadSourceDigest, err = j.inputs.userData.Digest(); err != nil {
		return outcome{}, err
	}
	for _, warning := range j.payload.Warnings {
		log.Note(warning)
	}
	if before == j.payload.Digest {
		return unchanged("%s from %s, as before", j.payloadSummary(), j.payload.Server)
	}
	return changed("%s from %s", j.payloadSummary(), j.payload.Server)
}

// loadPayload gets the payload and merges the administrator's overrides over it. It
// reports whether the payload was saved by an earlier run.
func (j *operation) loadPayload(ctx context.Context, log report.Log) (kept bool, err error) {
	if kept, err = j.loadBasePayload(ctx, log); err != nil {
		return kept, err
	}
	j.payload, err = j.applyOverrides(ctx, j.payload, log)
	return kept, err
}

// loadBasePayload gets the payload without overrides: the saved one, else the
// server's.
func (j *operation) loadBasePayload(ctx context.Context, log report.Log) (kept bool, err error) {
	if j.payload, err = j.savedPayload(); err != nil || j.payload != nil {
		return true, err
	}
	if j.inputs.userData == nil {
		return false, report.Fail(report.Usage, "hcp-node-agent join --user-data stub.ign",
			"there is no payload on this host any more, and no stub to fetch it with")
	}
	j.payload, err = j.fetcher(log).Fetch(ctx, j.inputs.userData)
	return false, err
}

func (j *operation) fetcher(log report.Log) ignition.Fetcher {
	return ignition.Fetcher{ConnectTo: j.config.ConnectTo, Log: log}
}

func (j *operation) payloadSummary() string {
	text := fmt.Sprintf("%d files, %d units, %d kB", j.payload.FileCount(), j.payload.UnitCount(), len(j.payload.Raw)/1000)
	switch n := len(j.inputs.overrides); n {
	case 0:
		return text
	case 1:
		return text + ", with 1 override"
	default:
		return fmt.Sprintf("%s, with %d overrides", text, n)
	}
}

// savedPayload returns the payload that an earlier run saved, or nil if the user
// data requires another one.
//
// The config hash in the user data of a NodePool covers its configuration and
// release, and the names of its pull secret and CAs, but not their contents. While
// a join is unfinished, an equal hash is sufficient, because the token may have
// expired. If a host that has joined is given user data with another token, the
// payload is fetched again. The host then gets the current contents and the
// bootstrap credential that was removed.
//
// The user data of a standalone cluster does not identify a configuration, and its
// server requires no token. A join with that user data, and a later join, therefore
// get the current configuration. The cluster's own machine-config-daemon has
// already updated the host to that configuration.
func (j *operation) savedPayload() (*ignition.Payload, error) {
	raw, err := loadFile(j.dir, payloadFile)
	if err != nil || raw == nil {
		return nil, err
	}
	if stub := j.inputs.userData; stub != nil && stub.ConfigHash() != j.state.PayloadConfigHash {
		return nil, nil // the payload has another configuration
	}
	renew, err := j.needsRefetch()
	if err != nil || renew {
		return nil, err
	}
	payload, err := ignition.LoadPayload(raw)
	if err != nil {
		return nil, nil //nolint:nilerr // a damaged file is fetched again
	}
	return payload, nil
}

// needsRefetch reports whether the user data requires the current payload, even if
// one was saved.
func (j *operation) needsRefetch() (bool, error) {
	stub := j.inputs.userData
	switch {
	case stub == nil:
		return false, nil
	case !stub.IsHosted():
		return j.inputs.newUserData, nil
	case j.state.Finished.IsZero():
		return false, nil
	}
	by, err := stub.Digest()
	return by != j.state.PayloadSourceDigest, err
}

// discardFailedUserData removes user data that failed to fetch a payload from a
// host that has joined. A later join without user data then succeeds with the saved
// payload.
func (j *operation) discardFailedUserData(err error) error {
	if j.state.Finished.IsZero() || !j.state.Hosted {
		return err
	}
	return errors.Join(err, removeFiles(j.dir, userDataFile))
}
