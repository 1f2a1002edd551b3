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
	kept, err := j.keptPayload()
	if err != nil {
		return outcome{}, err
	}
	if kept != nil {
		j.payload = kept
		return same("%s, kept from an earlier run", size(kept))
	}
	if j.inputs.stub == nil {
		return outcome{}, report.Fail(report.Usage, "hcp-node-agent join --user-data stub.ign",
			"there is no payload on this host any more, and no stub to fetch it with")
	}
	fetcher := ignition.Fetcher{ConnectTo: j.config.ConnectTo, Log: log}
	if j.payload, err = fetcher.Fetch(ctx, j.inputs.stub); err != nil {
		return outcome{}, err
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
