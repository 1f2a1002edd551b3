// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"os"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/inputs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/payload"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// PayloadOrigin identifies a payload in a document.
type PayloadOrigin struct {
	Source  payload.Kind `json:"source" doc:"saved: by the join of this host; server: downloaded; file: of --payload"`
	Name    string       `json:"name,omitempty" doc:"name of the file or of the server"`
	Digest  string       `json:"digest" doc:"SHA-256 of the payload without overrides, hexadecimal"`
	Summary string       `json:"summary" doc:"numbers of files and units, and the size"`
}

// FactsOrigin identifies the facts of a plan in a document.
type FactsOrigin struct {
	Source FactsSource `json:"source" doc:"host: this host; file: of --facts; default: a RHEL 9 host in package mode without the packages of a node"`
	File   string      `json:"file,omitempty" doc:"name of the file"`
	Host   string      `json:"host" doc:"operating system and mode of the host"`
}

// openReadOnly opens the host and reads the inputs for a command that changes nothing. The host is
// this one unless the options require facts from elsewhere. needsUserData is whether a host without a
// recorded join requires user data, unless the options name a payload.
func openReadOnly(ctx context.Context, options inputs.Options, needsUserData bool) (*Builder, error) {
	facts, err := otherHostFacts(ctx, options)
	if err != nil {
		return nil, err
	}
	b := &Builder{Config: options.Config}
	b.Sink = options.RemedySink(func() bool { return b.State.Exists() })
	if facts == nil {
		b.Dir = options.StateDir
		if b.State, err = joinstate.Read(b.Dir); err != nil {
			return nil, err
		}
		b.Config = inputs.MergeSaved(b.Config, b.State)
	}
	if options.Payload != "" {
		if b.payloadFile, err = readPlanInput(options, options.Payload, "--payload"); err != nil {
			return nil, err
		}
	}
	read := inputs.ReadOptional
	if needsUserData && options.Payload == "" {
		read = inputs.Read
	}
	if b.Inputs, err = read(options, b.State); err != nil {
		return nil, err
	}
	b.Config = inputs.MergeJoinToken(b.Config, b.Inputs.JoinToken)
	if options.Payload != "" && b.Inputs.UserData == nil && !b.State.Exists() {
		b.State.Hosted, b.State.NodePool = true, b.Config.NodePool
	}
	b.State.SetSource(b.Inputs.UserData)
	if facts != nil {
		err = b.openOtherHost(*facts)
	} else {
		b.Machine, err = machine.Open(ctx, b.Dir, false)
	}
	if err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// otherHostFacts returns the facts of the options or the default facts. It returns nil if the facts
// are those of this host: see Show.
func otherHostFacts(ctx context.Context, options inputs.Options) (*HostFacts, error) {
	switch {
	case options.Facts != "":
		raw, err := readPlanInput(options, options.Facts, "--facts")
		if err != nil {
			return nil, err
		}
		facts, err := parseFacts(options.Facts, raw)
		return &facts, err
	case options.Payload != "" && !isRootOnHost(ctx):
		facts := newDefaultFacts()
		return &facts, nil
	}
	return nil, nil //nolint:nilnil // they are read when they are needed
}

// isRootOnHost reports whether this process is root on a host with systemd, as opposed to a
// container.
func isRootOnHost(ctx context.Context) bool {
	if os.Geteuid() != 0 {
		return false
	}
	manager, err := systemd.Open(ctx)
	if err != nil {
		return false
	}
	manager.Close()
	return true
}

func readPlanInput(options inputs.Options, name, flag string) ([]byte, error) {
	content, err := inputs.ReadFile(name, options.Stdin, flag)
	if err != nil {
		return nil, report.Fail(report.Usage, "hcp-node-agent plan --help", "%w", err)
	}
	return content, nil
}

func (b *Builder) payloadOrigin(options inputs.Options) PayloadOrigin {
	origin := PayloadOrigin{
		Source:  b.Loaded.Source,
		Name:    b.Payload.Server,
		Digest:  b.Payload.Digest,
		Summary: b.Loaded.Summary(),
	}
	switch origin.Source {
	case payload.KindFile:
		origin.Name = options.Payload
	case payload.KindSaved:
		origin.Name = ""
	case payload.KindServer:
	}
	return origin
}

func (b *Builder) factsOrigin(options inputs.Options) FactsOrigin {
	origin := FactsOrigin{Source: FactsOfThisHost, File: options.Facts}
	switch {
	case b.otherHost == nil:
		origin.Host = describeHost(b.Facts)
	case options.Facts != "":
		origin.Source = FactsFromFile
		origin.Host = describeHost(b.Facts)
	default:
		origin.Source = DefaultFacts
		origin.Host = describeHost(b.Facts) + ", no packages of a node"
	}
	return origin
}

// notPlanned returns the parts of a join that the plan does not contain, each with the reason.
func (b *Builder) notPlanned(p *Plan) []string {
	switch {
	case b.otherHost != nil && b.Config.AppliesHostSettings():
		return append(b.notPlannedElsewhere(), "ports of firewalld: they depend on firewalld of the host")
	case b.otherHost != nil:
		return b.notPlannedElsewhere()
	case p.Migration != nil:
		return nil
	case slices.Contains(b.Config.Skip, steps.Network):
		return []string{"network: the step network is skipped"}
	case b.NM == nil:
		return []string{"network: NetworkManager does not run"}
	}
	return []string{"network: the packages step installs Open vSwitch first"}
}

// notPlannedElsewhere returns what a plan for another host never contains.
func (b *Builder) notPlannedElsewhere() []string {
	return []string{
		"network, packages and the release of the payload: they depend on NetworkManager, dnf and an image registry",
		"comparison of files, sysctls and kernel modules: the facts do not contain them, and all count as added",
	}
}
