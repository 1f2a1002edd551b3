package bootstrap

import (
	"context"
	"errors"
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// fetch gets the payload, from the server or from what an earlier run of the
// same join has kept: a restart never asks for the token again.
func fetch(ctx context.Context, j *join, log report.Log) (outcome, error) {
	kept, err := j.obtain(ctx, log)
	if err != nil {
		return outcome{}, j.notRenewed(err)
	}
	// With all that they refer to: the next run has perhaps no network yet.
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

// obtain gets the payload, and merges over it what an administrator has given
// for this host.
func (j *join) obtain(ctx context.Context, log report.Log) (kept bool, err error) {
	if kept, err = j.base(ctx, log); err != nil {
		return kept, err
	}
	j.payload, err = j.overridden(ctx, j.payload, log)
	return kept, err
}

// base gets the payload as it was served: the one that was kept, else the
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

// keptPayload gives the payload that an earlier run has kept, if it is what the
// stub asks for.
//
// The hash in the stub of a NodePool is of its configuration and release, and of
// the names of its pull secret and CAs, not of what is in these. While a join is
// unfinished that is enough, for the token can be gone by now. A host that has
// joined and is given a stub with another token is to be renewed: it gets what the
// cluster has now, with the bootstrap credential that was removed.
//
// The stub of a standalone cluster does not say which configuration it is of, and
// its server asks for no token: who gives that stub again, or joins again later,
// gets what the cluster has now, for its own daemon has brought the host there.
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

// renews tells whether the stub asks for what the cluster has now, whatever was
// kept.
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

// notRenewed lets a host that has joined go on with what it has: a later join
// without a stub is not to fail by the one that has led nowhere.
func (j *join) notRenewed(err error) error {
	if j.state.Finished.IsZero() || !j.state.Hosted {
		return err
	}
	return errors.Join(err, drop(j.dir, stubFile))
}
