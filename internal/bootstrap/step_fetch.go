package bootstrap

import (
	"context"
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// fetch gets the payload, from the server or from what an earlier run of the
// same join has kept: a restart never asks for the token again.
func fetch(ctx context.Context, j *join, log report.Log) (outcome, error) {
	kept, err := j.obtain(ctx, log)
	if err != nil {
		return outcome{}, err
	}
	if kept {
		return same("%s, kept from an earlier run", size(j.payload))
	}
	if err := keep(j.dir, payloadFile, j.payload.Raw); err != nil {
		return outcome{}, err
	}
	j.state.Payload = j.payload.Digest
	j.state.PayloadOf = j.state.ConfigHash
	for _, warning := range j.payload.Warnings {
		log.Note(warning)
	}
	return changed("%s from %s", size(j.payload), j.payload.Server)
}

// obtain gets the payload: the one that was kept, else the server's.
func (j *join) obtain(ctx context.Context, log report.Log) (kept bool, err error) {
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

func size(p *ignition.Payload) string {
	return fmt.Sprintf("%d files, %d units, %d kB", p.Files(), p.Units(), len(p.Raw)/1000)
}

// keptPayload gives the payload that an earlier run has kept, if it is of the
// configuration that the stub asks for.
func (j *join) keptPayload() (*ignition.Payload, error) {
	raw, err := read(j.dir, payloadFile)
	if err != nil || raw == nil {
		return nil, err
	}
	if stub := j.inputs.stub; stub != nil && stub.ConfigHash() != j.state.PayloadOf {
		return nil, nil //nolint:nilnil // it is of another configuration
	}
	payload, err := ignition.LoadPayload(raw)
	if err != nil {
		return nil, nil //nolint:nilnil,nilerr // damaged: it is fetched again
	}
	return payload, nil
}
