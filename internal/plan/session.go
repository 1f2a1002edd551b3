// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
)

// Session is a run of a command on a host. It cannot change the host.
type Session struct {
	Run         *Run
	Host        machine.Reader
	PackageHost dnf.Host // where packages are installed: this host, except in tests
}

// Build gathers the facts about the host and decides what a join with the payload does.
func (s *Session) Build(ctx context.Context, uplink *Uplink, payload *ignition.Payload) (*Plan, error) {
	facts, err := s.Gather(ctx, uplink, payload)
	if err != nil {
		return nil, err
	}
	return Build(facts, payload, s.Run.Settings())
}
