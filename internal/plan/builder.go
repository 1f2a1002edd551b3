// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/payload"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
)

// Builder builds plans from the payload and the facts of this host. It cannot change the host.
type Builder struct {
	*Session

	Loaded      payload.Loaded     // the payload with its source; zero before LoadPayload
	Payload     *ignition.Payload  // that of Loaded
	Software    *software.Contents // of the payload; nil before LoadSoftware, and if it is unknown
	SoftwareErr error              // why it is unknown
	Upgrading   bool               // the payload replaces another one: software of another release is replaced

	payloadFile   []byte     // the payload in place of the saved or downloaded one; nil: none was given
	otherHost     *HostFacts // the facts of the plan; nil: they are read from this host
	removeScratch func()     // removes the file tree of another host
}

// IsHosted reports whether the host joins a NodePool of a hosted cluster, as
// opposed to the machine config pool of a standalone cluster, whose own daemon
// compares every file.
func (b *Builder) IsHosted() bool { return b.Run.State.Hosted }

// Build gathers the facts about the host and decides what a join does. The payload must have been loaded.
func (b *Builder) Build(ctx context.Context, uplink *Uplink) (*Plan, error) {
	facts, err := b.Gather(ctx, uplink)
	if err != nil {
		return nil, err
	}
	return Build(facts, b.Payload, b.settings())
}

func (b *Builder) settings() Settings {
	return Settings{
		Config: b.Run.Config, JoinToken: b.Run.Inputs.JoinToken, NodePool: b.Run.State.NodePool, Hosted: b.Run.State.Hosted,
		BootsImage: b.Upgrading || !b.Run.State.Registered,
		FirstJoin:  b.Run.State.Finished.IsZero(), PayloadDigest: b.Run.State.PayloadDigest,
	}
}

// BootstrapKubeconfig returns the payload's bootstrap kubeconfig, or nil if it was removed.
func (b *Builder) BootstrapKubeconfig() []byte { return bootstrapKubeconfig(b.Payload) }

// effectiveFile returns the content of a file after the join: the payload's, else the host's.
func (b *Builder) effectiveFile(p string) ([]byte, bool) {
	return effectiveFile(b.Payload, b.Host.Files, p)
}
