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
	run := &Run{Config: options.Config, Attended: true}
	run.Sink = options.RemedySink(func() bool { return run.State.Exists() })
	if facts == nil {
		run.Dir = options.StateDir
		if run.State, err = joinstate.Read(run.Dir); err != nil {
			return nil, err
		}
		run.Config = inputs.MergeSaved(run.Config, run.State)
	}
	b := &Builder{Session: &Session{Run: run}}
	if options.Payload != "" {
		if b.payloadFile, err = readPlanInput(options, options.Payload, "--payload"); err != nil {
			return nil, err
		}
	}
	read := inputs.ReadOptional
	if needsUserData && options.Payload == "" {
		read = inputs.Read
	}
	if run.Inputs, err = read(ctx, options, run.State); err != nil {
		return nil, err
	}
	run.Config = inputs.MergeJoinToken(run.Config, run.Inputs.JoinToken)
	if options.Payload != "" && run.Inputs.UserData == nil && !run.State.Exists() {
		run.State.Hosted, run.State.NodePool = true, run.Config.NodePool
	}
	run.State.SetSource(run.Inputs.UserData)
	if facts != nil {
		return b, b.openOtherHost(*facts)
	}
	b.Host, err = machine.OpenReader(ctx, run.Dir)
	return b, err
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
		return nil, report.Fail(report.Usage, "", "%w", err)
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
		origin.Host = describeHost(b.Host.Facts)
	case options.Facts != "":
		origin.Source = FactsFromFile
		origin.Host = describeHost(b.Host.Facts)
	default:
		origin.Source = DefaultFacts
		origin.Host = describeHost(b.Host.Facts) + ", no packages of a node"
	}
	return origin
}

// notPlanned returns the parts of a join that the plan does not contain, each with the reason.
func (b *Builder) notPlanned(p *Plan) []string {
	switch {
	case b.otherHost != nil && b.Run.Config.AppliesHostSettings():
		return append(b.notPlannedElsewhere(), "ports of firewalld: they depend on firewalld of the host")
	case b.otherHost != nil:
		return b.notPlannedElsewhere()
	case p.Migration != nil:
		return nil
	case !b.Host.Facts.Capabilities().CreatesBridge:
		return []string{"network: ovs-configuration.service of the payload creates br-ex"}
	case slices.Contains(b.Run.Config.Skip, steps.Network):
		return []string{"network: the step network is skipped"}
	case b.Host.NetworkManager == nil:
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
