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

// Builder is one run of a command: its configuration and the data that its steps
// share.
type Builder struct {
	Config config.Join
	Dir    string
	Sink   report.Sink
	State  State
	Inputs Inputs

	*Machine

	Payload *ignition.Payload
	Plan    *ignition.Plan
	NodeName    string // node name

	PackageHost     dnf.Host           // where packages are installed: this host, except in tests
	ServerVersion   kubelet.Version    // version of the API server; zero before the server was queried
	Packages *packages.Decision // the packages that the host lacks; nil before they were determined
	PackagesPending bool               // the packages step has not run yet in this run
	UplinkUnchecked bool               // preflight did not check the uplink because a package is missing
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
	ctx, cancel := withTimeout(ctx, j.Config.Timeout)
	defer cancel()
	m, turn, err := AcquireLock(ctx, options)
	if err != nil {
		return false, err
	}
	if turn.Waited {
		options.Stdin = &read
		if j, err = prepareJoin(options); err != nil {
			m.Close()
			return false, err
		}
	}
	j.Machine = m
	changed, err := j.runJoin(ctx, options.Resume)
	m.Close()
	if turn.Stopped || (err == nil && j.Config.Until == config.Defaults().Until) {
		j.startService(context.WithoutCancel(ctx))
	}
	return changed, err
}

// runJoin runs all steps and emits the first and the final headline. If a new join
// fails before it changes the host, its records are removed. A resumed join always
// keeps them.
func (j *Builder) runJoin(ctx context.Context, resumed bool) (bool, error) {
	if err := j.recordStart(); err != nil {
		return false, err
	}
	j.emit(report.Event{Kind: report.Headline, Message: j.headline()})
	changed, err := j.runSteps(ctx, Steps())
	if err == nil {
		return changed, j.finish(changed)
	}
	if len(j.Ledger.Items()) == 0 && !resumed {
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
func prepareJoin(options Options) (*Builder, error) {
	if err := checkSkip(options.Config.Skip); err != nil {
		return nil, err
	}
	state, err := ReadState(options.StateDir)
	if err != nil {
		return nil, err
	}
	// Only an administrator who names a cluster can turn an unfinished leave into a
	// join.
	if c := options.Config; options.Service || options.Resume || (c.JoinToken == "" && !StartsOver(c, state)) {
		if err := state.CheckNotLeaving(); err != nil {
			return nil, err
		}
	}
	j := &Builder{Config: options.Config, Dir: options.StateDir, Sink: options.Sink, State: state}
	if options.Resume {
		if !state.Exists() {
			return nil, UsageError("there is no unfinished join to go on with")
		}
		j.Config = state.Config
		j.Config.Timeout = options.Config.Timeout
	}
	j.Config = MergeSaved(j.Config, state)
	if j.Inputs, err = ReadInputs(options.Config, state, j.Dir, options.Resume, options.Stdin); err != nil {
		return nil, err
	}
	j.Config = MergeJoinToken(j.Config, j.Inputs.JoinToken)
	return j, j.checkNodePool()
}

// checkNodePool fails if the user data belongs to a NodePool other than the one
// this host has joined.
func (j *Builder) checkNodePool() error {
	stub, state := j.Inputs.UserData, j.State
	if stub == nil || !state.Exists() || state.NodePool == "" || stub.NodePool() == "" || stub.NodePool() == state.NodePool {
		return nil
	}
	return report.Fail(report.Refused, "hcp-node-agent leave # and then join again",
		"this host belongs to NodePool %s (join of %s); the stub is of NodePool %s",
		state.NodePool, state.Started.Format(time.DateOnly), stub.NodePool())
}

// recordStart saves the state and the inputs of the join, so that the unit can
// resume the join after a reboot.
func (j *Builder) recordStart() error {
	if err := CheckMachineID(j.State, j.Facts.MachineID, j.Dir); err != nil {
		return err
	}
	if !j.State.Exists() {
		j.State.Started = time.Now().UTC()
	}
	if !j.State.Leaving.IsZero() {
		// The leave may have undone any part of the join, and the saved payload no longer
		// contains the bootstrap credential.
		j.State.Leaving, j.State.Finished = time.Time{}, time.Time{}
		j.State.PayloadDigest, j.State.PayloadConfigHash, j.State.PayloadSourceDigest, j.State.Registered = "", "", "", false
	}
	j.State.Config = j.Config
	j.State.MachineID = j.Facts.MachineID
	j.State.SetSource(j.Inputs.UserData)
	if err := errors.Join(SaveOverrides(j.Dir, j.Inputs.Overrides), SaveJoinToken(j.Dir, j.Inputs.JoinToken)); err != nil {
		return err
	}
	if stub := j.Inputs.UserData; stub != nil {
		content, err := stub.Encode()
		if err != nil {
			return err
		}
		if err := SaveFile(j.Dir, UserDataFile, content); err != nil {
			return err
		}
	}
	return WriteState(j.Dir, j.State)
}

// recordStep records the last completed step.
func (j *Builder) recordStep(step string) error {
	j.State.LastStep = step
	return WriteState(j.Dir, j.State)
}

// finish removes the user data's token and the join token, which the node no longer
// needs, and then records the end of the join. A power failure in between leaves an
// unfinished join. It resumes without the tokens, because its payload is saved.
func (j *Builder) finish(changed bool) error {
	secrets := []string{JoinTokenFile}
	// User data of a standalone cluster contains no token. It is kept because it leads
	// to the current configuration of the pool.
	if stub := j.Inputs.UserData; j.IsHosted() || (stub != nil && stub.HasToken()) {
		secrets = append(secrets, UserDataFile)
	}
	if err := RemoveFiles(j.Dir, secrets...); err != nil {
		return err
	}
	if j.State.Finished.IsZero() {
		j.State.Finished = time.Now().UTC()
	}
	if err := WriteState(j.Dir, j.State); err != nil {
		return err
	}
	text := fmt.Sprintf("%s is %s", j.NodeName, stateReached(j.Config.Until))
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

func (j *Builder) headline() string {
	text := "this host"
	if j.Facts.Hostname != "" {
		text = j.Facts.Hostname
	}
	text += " joins"
	if j.State.NodePool != "" {
		text += " NodePool " + j.State.NodePool
	}
	if j.State.Endpoint != "" {
		text += " by " + j.State.Endpoint
	}
	return text
}

func UsageError(format string, args ...any) error {
	return report.Fail(report.Usage, "hcp-node-agent join --help", format, args...)
}
