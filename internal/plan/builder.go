// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/inputs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
)

// Builder builds plans from the payload and the facts of this host. Its methods change
// nothing on the host.
type Builder struct {
	Config config.Join
	Dir    string
	Sink   report.Sink
	State  joinstate.State
	Inputs inputs.Inputs

	*machine.Machine

	Payload     *ignition.Payload  // nil before LoadPayload
	Software    *software.Contents // of the payload; nil before LoadSoftware, and if it is unknown
	SoftwareErr error              // why it is unknown
	PackageHost dnf.Host           // where packages are installed: this host, except in tests
	Upgrading   bool               // the payload replaces another one: software of another release is replaced

	payloadFile   []byte     // the payload in place of the saved or downloaded one; nil: none was given
	otherHost     *HostFacts // the facts of the plan; nil: they are read from this host
	removeScratch func()     // removes the file tree of another host
}

// IsHosted reports whether the host joins a NodePool of a hosted cluster, as
// opposed to the machine config pool of a standalone cluster, whose own daemon
// compares every file.
func (b *Builder) IsHosted() bool { return b.State.Hosted }
