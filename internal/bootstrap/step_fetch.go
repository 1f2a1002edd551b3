package bootstrap

import (
	"context"
	"errors"
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// fetch gets the payload from the ignition server, or the payload that an earlier
// run of the same join saved. A restart never needs the token again.
func fetch(ctx context.Context, j *join, log report.Log) (outcome, error) {
	kept, err := j.obtain(ctx, log)
	if err != nil {
		return outcome{}, j.notRenewed(err)
	}
	// Save the resources to which the overrides refer. The next run may have no network
	// yet.
	if err := keepOverrides(j.dir, j.inputs.overrides); err != nil {
		return outcome{}, err
	}
	if kept {
		return same("%s, kept from an earlier run", j.size())
	}
	if err := keep(j.dir, payloadFile, j.payload.Raw); err != nil {
		return outcome{}, err
	}
	before := j.state.Payload
	j.state.Payload = j.payload.Digest
	j.state.PayloadOf = j.state.ConfigHash
	if j.state.PayloadBy, err = j.inputs.stub.Digest(); err != nil {
		return outcome{}, err
	}
	for _, warning := range j.payload.Warnings {
		log.Note(warning)
	}
	if before == j.payload.Digest {
		return same("%s from %s, as before", j.size(), j.payload.Server)
	}
	return changed("%s from %s", j.size(), j.payload.Server)
}

// obtain gets the payload and merges the administrator's overrides over it. It
// reports whether the payload was saved by an earlier run.
func (j *join) obtain(ctx context.Context, log report.Log) (kept bool, err error) {
	if kept, err = j.base(ctx, log); err != nil {
		return kept, err
	}
	j.payload, err = j.overridden(ctx, j.payload, log)
	return kept, err
}

// base gets the payload without overrides: the saved one, else the
// server's.
func (j *join) base(ctx context.Context, log report.Log) (kept bool, err error) {
	if j.payload, err = j.keptPayload(); err != nil || j.payload != nil {
		return true, err
	}
	if j.inputs.stub == nil {
		return false, report.Fail(report.Usage, "hcp-node-agent join --user-data stub.ign",
			"there is no payload on this host any more, and no stub to fetch it with")
	}
	j.payload, err = j.fetcher(log).Fetch(ctx, j.inputs.stub)
	return false, err
}

func (j *join) fetcher(log report.Log) ignition.Fetcher {
	return ignition.Fetcher{ConnectTo: j.config.ConnectTo, Log: log}
}

func (j *join) size() string {
	text := fmt.Sprintf("%d files, %d units, %d kB", j.payload.Files(), j.payload.Units(), len(j.payload.Raw)/1000)
	switch n := len(j.inputs.overrides); n {
	case 0:
		return text
	case 1:
		return text + ", with 1 override"
	default:
		return fmt.Sprintf("%s, with %d overrides", text, n)
	}
}

// keptPayload returns the payload that an earlier run saved, or nil if the user
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
// brought the host there already.
func (j *join) keptPayload() (*ignition.Payload, error) {
	raw, err := read(j.dir, payloadFile)
	if err != nil || raw == nil {
		return nil, err
	}
	if stub := j.inputs.stub; stub != nil && stub.ConfigHash() != j.state.PayloadOf {
		return nil, nil //nolint:nilnil // it is of another configuration
	}
	renew, err := j.renews()
	if err != nil || renew {
		return nil, err
	}
	payload, err := ignition.LoadPayload(raw)
	if err != nil {
		return nil, nil //nolint:nilnil,nilerr // damaged: it is fetched again
	}
	return payload, nil
}

// renews reports whether the user data requires the current payload, even if
// one was saved.
func (j *join) renews() (bool, error) {
	stub := j.inputs.stub
	switch {
	case stub == nil:
		return false, nil
	case !stub.Hosted():
		return j.inputs.fresh, nil
	case j.state.Finished.IsZero():
		return false, nil
	}
	by, err := stub.Digest()
	return by != j.state.PayloadBy, err
}

// notRenewed removes user data that failed to fetch a payload from a
// host that has joined. A later join without user data then succeeds with the saved
// payload.
func (j *join) notRenewed(err error) error {
	if j.state.Finished.IsZero() || !j.state.Hosted {
		return err
	}
	return errors.Join(err, drop(j.dir, stubFile))
}
