// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/payload"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// LoadPayload gets the payload with the overrides: the given file, else the saved one, else the server's.
func (b *Builder) LoadPayload(ctx context.Context, log report.Log) error {
	if b.payloadFile != nil {
		return b.LoadPayloadFrom(ctx, log, payload.File{Content: b.payloadFile})
	}
	return b.LoadPayloadFrom(ctx, log, b.Run.SavedPayload(), b.Run.PayloadServer())
}

// LoadPayloadFrom gets the payload of the first source that has one. It sets Loaded, Payload and the
// overrides, which then contain the resources to which they refer.
func (b *Builder) LoadPayloadFrom(ctx context.Context, log report.Log, sources ...payload.Source) error {
	loaded, err := payload.Get(ctx, b.Run.Inputs, log, sources...)
	if err != nil {
		return err
	}
	b.Loaded, b.Payload, b.Run.Inputs.Overrides = loaded, loaded.Payload, loaded.Overrides
	return nil
}

// SavedPayload returns the source with the payload of an earlier run.
func (r *Run) SavedPayload() payload.Saved {
	return payload.Saved{Dir: r.Dir, State: r.State, Inputs: r.Inputs}
}

// PayloadServer returns the ignition server of the user data.
func (r *Run) PayloadServer() payload.Server {
	return payload.Server{Fetcher: r.Fetcher(report.Log{}), UserData: r.Inputs.UserData, Dir: r.Dir}
}

// attendedTokenTimeout is the time for retries of a token that is not accepted while a person waits. A restarted
// ignition server rejects each token until it has generated its payload again, one NodePool after the other: with ten
// NodePools for two minutes. An expired token cannot be distinguished from that, so each retry prints both causes.
const attendedTokenTimeout = 3 * time.Minute

// Fetcher returns the client of the ignition server.
func (r *Run) Fetcher(log report.Log) ignition.Fetcher {
	fetcher := ignition.Fetcher{ConnectTo: r.Config.ConnectTo, Log: log}
	if r.Attended {
		fetcher.TokenRetryTimeout = attendedTokenTimeout
	}
	return fetcher
}
