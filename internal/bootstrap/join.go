package bootstrap

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/packages"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Options configures a command.
type Options struct {
	Config   config.Join
	Service  bool // started by the service: waits for other runs, never takes over
	Resume   bool // resume the unfinished join with its recorded settings
	StateDir string
	Sink     report.Sink
	Stdin    io.Reader
	Diff     bool // for a plan: include differences of text files
}

// join is one run of a command: its configuration and the data that its steps
// share.
type join struct {
	config config.Join
	dir    string
	sink   report.Sink
	state  State
	inputs inputs

	*machine

	payload *ignition.Payload
	plan    *ignition.Plan
	name    string // node name

	packages dnf.Host           // where packages are installed: this host, except in tests
	server   kubelet.Version    // version of the API server; zero before the server was queried
	software *packages.Decision // the packages that the host lacks; nil before they were determined
	before   bool               // the packages step has not run yet in this run
	unseen   bool               // preflight did not check the uplink because a package is missing
}

// Join makes this host a worker node. It reports whether anything changed.
func Join(ctx context.Context, options Options) (bool, error) {
	var read bytes.Buffer // standard input can be read only once
	if options.Stdin != nil {
		options.Stdin = io.TeeReader(options.Stdin, &read)
	}
	j, err := prepare(options)
	if err != nil {
		return false, err
	}
	ctx, cancel := withTimeout(ctx, j.config.Timeout)
	defer cancel()
	m, turn, err := takeTurn(ctx, options)
	if err != nil {
		return false, err
	}
	if turn.waited {
		options.Stdin = &read
		if j, err = prepare(options); err != nil {
			m.close()
			return false, err
		}
	}
	j.machine = m
	changed, err := j.join(ctx, options.Resume)
	m.close()
	if turn.stopped || (err == nil && j.config.Until == config.Defaults().Until) {
		j.beginService(context.WithoutCancel(ctx))
	}
	return changed, err
}

// join runs all steps and emits the first and the final headline. If a new join
// fails before it changes the host, its records are removed. A resumed join always
// keeps them.
func (j *join) join(ctx context.Context, resumed bool) (bool, error) {
	if err := j.start(); err != nil {
		return false, err
	}
	j.emit(report.Event{Kind: report.Headline, Message: j.headline()})
	changed, err := j.run(ctx, Steps())
	if err == nil {
		return changed, j.finish(changed)
	}
	if len(j.ledger.Items()) == 0 && !resumed {
		// The host is unchanged, so nothing has to be resumed at the next boot, and secrets
		// must not remain. The service still retries with the files it was given.
		err = errors.Join(err, j.forget())
	}
	return changed, err
}

// withTimeout limits a run to its --timeout. A timeout of 0 means no limit.
func withTimeout(ctx context.Context, timeout config.Duration) (context.Context, context.CancelFunc) {
	if timeout > 0 {
		return context.WithTimeout(ctx, time.Duration(timeout))
	}
	return context.WithCancel(ctx)
}

// prepare reads the inputs of a run. It changes nothing.
func prepare(options Options) (*join, error) {
	if err := checkSkip(options.Config.Skip); err != nil {
		return nil, err
	}
	state, err := readState(options.StateDir)
	if err != nil {
		return nil, err
	}
	// Only an administrator who names a cluster can turn an unfinished leave into a
	// join.
	if c := options.Config; options.Service || options.Resume || (c.Ticket == "" && !given(c, state)) {
		if err := state.stays(); err != nil {
			return nil, err
		}
	}
	j := &join{config: options.Config, dir: options.StateDir, sink: options.Sink, state: state}
	if options.Resume {
		if !state.Known() {
			return nil, usage("there is no unfinished join to go on with")
		}
		j.config = state.Config
		j.config.Timeout = options.Config.Timeout
	}
	j.config = continued(j.config, state)
	if j.inputs, err = readInputs(options.Config, state, j.dir, options.Resume, options.Stdin); err != nil {
		return nil, err
	}
	j.config = withTicket(j.config, j.inputs.ticket)
	return j, j.fits()
}

// fits fails if the user data belongs to a NodePool other than the one
// this host has joined.
func (j *join) fits() error {
	stub, state := j.inputs.stub, j.state
	if stub == nil || !state.Known() || state.NodePool == "" || stub.NodePool() == "" || stub.NodePool() == state.NodePool {
		return nil
	}
	return report.Fail(report.Refused, "hcp-node-agent leave # and then join again",
		"this host belongs to NodePool %s (join of %s); the stub is of NodePool %s",
		state.NodePool, state.Started.Format(time.DateOnly), stub.NodePool())
}

// start saves the state and the inputs of the join, so that the unit can
// resume the join after a reboot.
func (j *join) start() error {
	if err := cloned(j.state, j.facts.MachineID, j.dir); err != nil {
		return err
	}
	if !j.state.Known() {
		j.state.Started = time.Now().UTC()
	}
	if !j.state.Leaving.IsZero() {
		// The leave may have undone any part of the join, and the saved payload no longer
		// contains the bootstrap credential.
		j.state.Leaving, j.state.Finished = time.Time{}, time.Time{}
		j.state.Payload, j.state.PayloadOf, j.state.PayloadBy, j.state.Registered = "", "", "", false
	}
	j.state.Config = j.config
	j.state.MachineID = j.facts.MachineID
	j.state.of(j.inputs.stub)
	if err := errors.Join(keepOverrides(j.dir, j.inputs.overrides), keepTicket(j.dir, j.inputs.ticket)); err != nil {
		return err
	}
	if stub := j.inputs.stub; stub != nil {
		content, err := stub.Encode()
		if err != nil {
			return err
		}
		if err := keep(j.dir, stubFile, content); err != nil {
			return err
		}
	}
	return writeState(j.dir, j.state)
}

// remember records the last completed step.
func (j *join) remember(step string) error {
	j.state.LastStep = step
	return writeState(j.dir, j.state)
}

// finish removes the user data's token and the join token, which the node no longer
// needs, and then records the end of the join. A power failure in between leaves an
// unfinished join. It resumes without the tokens, because its payload is saved.
func (j *join) finish(changed bool) error {
	secrets := []string{ticketFile}
	// User data of a standalone cluster contains no token. It is kept because it leads
	// to the current configuration of the pool.
	if stub := j.inputs.stub; j.hosted() || (stub != nil && stub.HasToken()) {
		secrets = append(secrets, stubFile)
	}
	if err := drop(j.dir, secrets...); err != nil {
		return err
	}
	if j.state.Finished.IsZero() {
		j.state.Finished = time.Now().UTC()
	}
	if err := writeState(j.dir, j.state); err != nil {
		return err
	}
	text := fmt.Sprintf("%s is %s", j.name, done(j.config.Until))
	if !changed {
		text += "; all was as it should be, nothing was changed"
	}
	j.emit(report.Event{Kind: report.Headline, Message: text})
	return nil
}

func done(until string) string {
	switch until {
	case "identity":
		return "known to the cluster"
	case "kubelet":
		return "running kubelet"
	case "ready":
		return "Ready"
	}
	return "Ready and schedulable"
}

func (j *join) headline() string {
	text := "this host"
	if j.facts.Hostname != "" {
		text = j.facts.Hostname
	}
	text += " joins"
	if j.state.NodePool != "" {
		text += " NodePool " + j.state.NodePool
	}
	if j.state.Endpoint != "" {
		text += " by " + j.state.Endpoint
	}
	return text
}

func usage(format string, args ...any) error {
	return report.Fail(report.Usage, "hcp-node-agent join --help", format, args...)
}
