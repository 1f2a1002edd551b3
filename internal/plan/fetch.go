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
	return b.LoadPayloadFrom(ctx, log, b.SavedPayload(), b.PayloadServer())
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
func (b *Builder) SavedPayload() payload.Saved {
	return payload.Saved{Dir: b.Run.Dir, State: b.Run.State, Inputs: b.Run.Inputs}
}

// PayloadServer returns the ignition server of the user data.
func (b *Builder) PayloadServer() payload.Server {
	return payload.Server{Fetcher: b.Fetcher(report.Log{}), UserData: b.Run.Inputs.UserData, Dir: b.Run.Dir}
}

// attendedTokenTimeout is the time for retries of a token that is not accepted while a person waits. A restarted
// ignition server rejects each token until it has generated its payload again, one NodePool after the other: with ten
// NodePools for two minutes. An expired token cannot be distinguished from that, so each retry prints both causes.
const attendedTokenTimeout = 3 * time.Minute

// Fetcher returns the client of the ignition server.
func (b *Builder) Fetcher(log report.Log) ignition.Fetcher {
	fetcher := ignition.Fetcher{ConnectTo: b.Run.Config.ConnectTo, Log: log}
	if b.Run.Attended {
		fetcher.TokenRetryTimeout = attendedTokenTimeout
	}
	return fetcher
}
