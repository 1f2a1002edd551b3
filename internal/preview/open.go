// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"context"
	"os"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/payload"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
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

// A target is the host for which a command prints what a join would do, with the inputs of the command.
type target struct {
	session       *plan.Session
	payloadFile   []byte     // the payload in place of the saved or downloaded one; nil: none was given
	otherHost     *HostFacts // the facts of the plan; nil: they are read from this host
	removeScratch func()     // removes the file tree of another host
}

// openTarget opens the host and reads the inputs for a command that changes nothing. The host is
// this one unless the options require facts from elsewhere. With a payload in the options, user data are optional.
func openTarget(ctx context.Context, options request.Options, need request.Need) (*target, error) {
	facts, err := otherHostFacts(ctx, options)
	if err != nil {
		return nil, err
	}
	run := &plan.Run{Attended: true}
	run.Sink = options.RemedySink(func() bool { return run.State.Exists() })
	if facts == nil {
		run.Dir = options.StateDir
		if run.State, err = joinstate.Read(run.Dir); err != nil {
			return nil, err
		}
	}
	t := &target{session: &plan.Session{Run: run}}
	if options.Payload != "" {
		need = request.UserDataOptional
		if t.payloadFile, err = request.ReadFile(options.Payload, options.Stdin, "--payload"); err != nil {
			return nil, err
		}
	}
	if run.Request, err = request.Read(ctx, options, run.State, need); err != nil {
		return nil, err
	}
	if options.Payload != "" && run.UserData == nil && !run.State.Exists() {
		run.State.Hosted, run.State.NodePool = true, run.Config.NodePool
	}
	run.State.SetSource(run.UserData)
	if facts != nil {
		return t, t.openOtherHost(*facts)
	}
	t.session.Host, err = machine.OpenReader(ctx, run.Dir)
	return t, err
}

// otherHostFacts returns the facts of the options or the default facts. It returns nil if the facts
// are those of this host: see Show.
func otherHostFacts(ctx context.Context, options request.Options) (*HostFacts, error) {
	switch {
	case options.Facts != "":
		raw, err := request.ReadFile(options.Facts, options.Stdin, "--facts")
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

func payloadOrigin(loaded payload.Loaded, options request.Options) PayloadOrigin {
	origin := PayloadOrigin{
		Source:  loaded.Source,
		Name:    loaded.Payload.Server,
		Digest:  loaded.Payload.Digest,
		Summary: loaded.Summary(),
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

func (t *target) factsOrigin(options request.Options) FactsOrigin {
	host := t.session.Host.Facts
	origin := FactsOrigin{Source: FactsOfThisHost, File: options.Facts}
	switch {
	case t.otherHost == nil:
		origin.Host = describeHost(host)
	case options.Facts != "":
		origin.Source = FactsFromFile
		origin.Host = describeHost(host)
	default:
		origin.Source = DefaultFacts
		origin.Host = describeHost(host) + ", no packages of a node"
	}
	return origin
}

// notPlanned returns the parts of a join that the plan does not contain, each with the reason.
func (t *target) notPlanned(p *plan.Plan) []string {
	run, host := t.session.Run, t.session.Host
	switch {
	case t.otherHost != nil && run.Config.AppliesHostSettings():
		return append(notPlannedElsewhere(), "ports of firewalld: they depend on firewalld of the host")
	case t.otherHost != nil:
		return notPlannedElsewhere()
	case p.Migration != nil:
		return nil
	case !host.Facts.Capabilities().CreatesBridge:
		return []string{"network: ovs-configuration.service of the payload creates br-ex"}
	case slices.Contains(run.Config.Skip, steps.Network):
		return []string{"network: the step network is skipped"}
	case host.NetworkManager == nil:
		return []string{"network: NetworkManager does not run"}
	}
	return []string{"network: the packages step installs Open vSwitch first"}
}

// notPlannedElsewhere returns what a plan for another host never contains.
func notPlannedElsewhere() []string {
	return []string{
		"network, packages and the release of the payload: they depend on NetworkManager, dnf and an image registry",
		"comparison of files, sysctls and kernel modules: the facts do not contain them, and all count as added",
	}
}
