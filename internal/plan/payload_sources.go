// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/payload"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// SavedPayload returns the source with the payload of an earlier run.
func (r *Run) SavedPayload() payload.Saved {
	return payload.Saved{Dir: r.Dir, State: r.State, Request: r.Request}
}

// PayloadServer returns the ignition server of the user data.
func (r *Run) PayloadServer() payload.Server {
	return payload.Server{Fetcher: r.Fetcher(report.Log{}), UserData: r.UserData, Dir: r.Dir}
}

// attendedTokenTimeout is the time for retries of a token that is not accepted while a person waits. A restarted
// ignition server rejects each token until it has generated its payload again, one NodePool after the other: with ten
// NodePools for two minutes. An expired token cannot be distinguished from that, so each retry prints both causes.
const attendedTokenTimeout = 3 * time.Minute

// Fetcher returns the client of the ignition server.
func (r *Run) Fetcher(log report.Log) ignition.Fetcher {
	fetcher := ignition.Fetcher{ConnectTo: r.Config.ConnectTo, RetryTimeout: r.ServerTimeout, Log: log}
	if r.Attended {
		fetcher.TokenRetryTimeout = attendedTokenTimeout
	}
	return fetcher
}
