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

// operation is one run of a command: its configuration and the data that its steps
// share.
type operation struct {
	config config.Join
	dir    string
	sink   report.Sink
	state  State
	inputs inputs

	*localHost

	payload *ignition.Payload
	plan    *ignition.Plan
	name    string // node name

	packageHost     dnf.Host           // where packages are installed: this host, except in tests
	serverVersion   kubelet.Version    // version of the API server; zero before the server was queried
	packageDecision *packages.Decision // the packages that the host lacks; nil before they were determined
	packagesPending bool               // the packages step has not run yet in this run
	uplinkUnchecked bool               // preflight did not check the uplink because a package is missing
}

// Join makes this host a worker node. It reports whether anything changed.
func Join(ctx context.Context, options Options) (bool, error) {
	var read bytes.Buffer // standard input can be read only once
	if options.Stdin != nil {
		options.Stdin = io.TeeReader(options.Stdin, &read)
	}
	j, err := prepareJoin(options)
	if err != nil {
		return false, err
	}
	ctx, cancel := withTimeout(ctx, j.config.Timeout)
	defer cancel()
	m, turn, err := acquireLock(ctx, options)
	if err != nil {
		return false, err
	}
	if turn.waited {
		options.Stdin = &read
		if j, err = prepareJoin(options); err != nil {
			m.close()
			return false, err
		}
	}
	j.localHost = m
	changed, err := j.runJoin(ctx, options.Resume)
	m.close()
	if turn.stopped || (err == nil && j.config.Until == config.Defaults().Until) {
		j.startService(context.WithoutCancel(ctx))
	}
	return changed, err
}

// runJoin runs all steps and emits the first and the final headline. If a new join
// fails before it changes the host, its records are removed. A resumed join always
// keeps them.
func (j *operation) runJoin(ctx context.Context, resumed bool) (bool, error) {
	if err := j.recordStart(); err != nil {
		return false, err
	}
	j.emit(report.Event{Kind: report.Headline, Message: j.headline()})
	changed, err := j.runSteps(ctx, Steps())
	if err == nil {
		return changed, j.finish(changed)
	}
	if len(j.ledger.Items()) == 0 && !resumed {
		// The host is unchanged, so nothing has to be resumed at the next boot, and secrets
		// must not remain. The service still retries with the files it was given.
		err = errors.Join(err, j.removeRecords())
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

// prepareJoin reads the inputs of a run. It changes nothing.
func prepareJoin(options Options) (*operation, error) {
	if err := checkSkip(options.Config.Skip); err != nil {
		return nil, err
	}
	state, err := readState(options.StateDir)
	if err != nil {
		return nil, err
	}
	// Only an administrator who names a cluster can turn an unfinished leave into a
	// join.
	if c := options.Config; options.Service || options.Resume || (c.JoinToken == "" && !startsOver(c, state)) {
		if err := state.checkNotLeaving(); err != nil {
			return nil, err
		}
	}
	j := &operation{config: options.Config, dir: options.StateDir, sink: options.Sink, state: state}
	if options.Resume {
		if !state.Exists() {
			return nil, usageError("there is no unfinished join to go on with")
		}
		j.config = state.Config
		j.config.Timeout = options.Config.Timeout
	}
	j.config = mergeSaved(j.config, state)
	if j.inputs, err = readInputs(options.Config, state, j.dir, options.Resume, options.Stdin); err != nil {
		return nil, err
	}
	j.config = mergeJoinToken(j.config, j.inputs.joinToken)
	return j, j.checkNodePool()
}

// checkNodePool fails if the user data belongs to a NodePool other than the one
// this host has joined.
func (j *operation) checkNodePool() error {
	stub, state := j.inputs.userData, j.state
	if stub == nil || !state.Exists() || state.NodePool == "" || stub.NodePool() == "" || stub.NodePool() == state.NodePool {
		return nil
	}
	return report.Fail(report.Refused, "hcp-node-agent leave # and then join again",
		"this host belongs to NodePool %s (join of %s); the stub is of NodePool %s",
		state.NodePool, state.Started.Format(time.DateOnly), stub.NodePool())
}

// recordStart saves the state and the inputs of the join, so that the unit can
// resume the join after a reboot.
func (j *operation) recordStart() error {
	if err := checkMachineID(j.state, j.facts.MachineID, j.dir); err != nil {
		return err
	}
	if !j.state.Exists() {
		j.state.Started = time.Now().UTC()
	}
	if !j.state.Leaving.IsZero() {
		// The leave may have undone any part of the join, and the saved payload no longer
		// contains the bootstrap credential.
		j.state.Leaving, j.state.Finished = time.Time{}, time.Time{}
		j.state.PayloadDigest, j.state.PayloadConfigHash, j.state.PayloadSourceDigest, j.state.Registered = "", "", "", false
	}
	j.state.Config = j.config
	j.state.MachineID = j.facts.MachineID
	j.state.setSource(j.inputs.userData)
	if err := errors.Join(saveOverrides(j.dir, j.inputs.overrides), saveJoinToken(j.dir, j.inputs.joinToken)); err != nil {
		return err
	}
	if stub := j.inputs.userData; stub != nil {
		content, err := stub.Encode()
		if err != nil {
			return err
		}
		if err := saveFile(j.dir, userDataFile, content); err != nil {
			return err
		}
	}
	return writeState(j.dir, j.state)
}

// recordStep records the last completed step.
func (j *operation) recordStep(step string) error {
	j.state.LastStep = step
	return writeState(j.dir, j.state)
}

// finish removes the user data's token and the join token, which the node no longer
// needs, and then records the end of the join. A power failure in between leaves an
// unfinished join. It resumes without the tokens, because its payload is saved.
func (j *operation) finish(changed bool) error {
	secrets := []string{joinTokenFile}
	// User data of a standalone cluster contains no token. It is kept because it leads
	// to the current configuration of the pool.
	if stub := j.inputs.userData; j.isHosted() || (stub != nil && stub.HasToken()) {
		secrets = append(secrets, userDataFile)
	}
	if err := removeFiles(j.dir, secrets...); err != nil {
		return err
	}
	if j.state.Finished.IsZero() {
		j.state.Finished = time.Now().UTC()
	}
	if err := writeState(j.dir, j.state); err != nil {
		return err
	}
	text := fmt.Sprintf("%s is %s", j.name, stateReached(j.config.Until))
	if !changed {
		text += "; all was as it should be, nothing was changed"
	}
	j.emit(report.Event{Kind: report.Headline, Message: text})
	return nil
}

func stateReached(until string) string {
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

func (j *operation) headline() string {
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

func usageError(format string, args ...any) error {
	return report.Fail(report.Usage, "hcp-node-agent join --help", format, args...)
}
