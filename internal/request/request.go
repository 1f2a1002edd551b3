// SPDX-License-Identifier: Apache-2.0

package request

import (
	"cmp"
	"context"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Request contains what a command was requested to do. All of it is read before the host is changed, and all but
// Config is secret. Read returns it, and the run does not change it.
type Request struct {
	Config      config.Join // settings of this run, of the recorded join and of the join token
	UserData    *ignition.UserData
	Approver    []byte               // kubeconfig of an identity that can approve CSRs; nil if none was given
	Overrides   []joinstate.Override // merged over the payload in this order
	JoinToken   *enrollment.Token
	NewUserData bool   // the user data was given in this run, or the join that used it has finished
	Stdin       []byte // content of standard input, for another Read of the same options; nil if it was not read
}

// A Need describes what a command requires of its request. Each need includes those before it.
type Need int

// The needs.
const (
	SettingsOnly       Need = iota // no file is read, also not the join token
	UserDataOptional               // all inputs are read, and none is required
	UserDataRequired               // user data for a host without a recorded join
	UserDataOfNodePool             // and of the NodePool of the recorded join, if it has one
)

// Read reads the request of a command, in this order:
//
//  1. The settings. A resumed join has its saved settings, with the timeout of this run. Any other run inherits the
//     saved settings that it was not given, unless it starts over.
//  2. The join token, given or saved. It adds its labels and taints to the settings.
//  3. The Ignition overrides, given or saved.
//  4. The approver's kubeconfig.
//  5. The user data, given or saved. Read blocks while it gets them from the hosted cluster of the join token.
//
// It fails if an input is invalid or need is not met. The request then contains what was read before.
func Read(ctx context.Context, o Options, state joinstate.State, need Need) (Request, error) {
	r := reader{Options: o, given: o.Config, state: state, request: Request{Config: o.Config}}
	r.inherits = o.Resume || !o.startsOver(state)
	switch {
	case o.Resume && !state.Exists():
		return r.request, report.UsageError("no join is in progress that could be resumed")
	case o.Resume:
		r.given, r.request.Config = config.Join{}, state.Config
		r.request.Config.Timeout = o.Config.Timeout
	case r.inherits:
		r.request.inheritSettings(state.Config)
	}
	if need == SettingsOnly {
		return r.request, nil
	}
	err := r.readInputs(ctx)
	if err == nil && need >= UserDataRequired {
		err = r.checkUserData()
	}
	if err == nil && need >= UserDataOfNodePool {
		err = r.request.checkNodePool(state)
	}
	return r.request, err
}

// reader reads the inputs of one request.
type reader struct {
	Options
	given    config.Join // inputs of this run; empty for a resumed join
	state    joinstate.State
	inherits bool // what was not given is that of the recorded join
	request  Request
}

// readInputs reads the inputs in the order of Read.
func (r *reader) readInputs(ctx context.Context) error {
	if err := checkStandardInput(r.given); err != nil {
		return err
	}
	if err := r.readJoinToken(); err != nil {
		return err
	}
	if err := r.readOverrides(); err != nil {
		return err
	}
	var err error
	if r.given.ApproveWith != "" {
		if r.request.Approver, err = r.readFile(r.given.ApproveWith, "--approve-with"); err != nil {
			return err
		}
	}
	r.request.NewUserData = !r.Resume && (r.given.HasUserData() || !r.state.Finished.IsZero())
	r.request.UserData, err = r.readUserData(ctx)
	return err
}

// readFile reads a file of this run, and keeps the content of standard input.
func (r *reader) readFile(name, flag string) ([]byte, error) {
	content, err := ReadFile(name, r.Stdin, flag)
	if name == "-" {
		r.request.Stdin = content
	}
	return content, err
}

// checkUserData fails if a host without a recorded join was given no user data.
func (r *reader) checkUserData() error {
	if r.request.UserData != nil || r.state.Exists() {
		return nil
	}
	remedy, message := ignition.UserDataRemedyFor(cmp.Or(r.Command, "join")), "the file that HyperShift stores for each "+
		"NodePool"
	if r.request.JoinToken != nil {
		remedy = "# if the controller publishes the user data now: enroll the host again with the same command, and " +
			"copy the file again; else:\n" + remedy
		message = "the join token has no source of it"
	}
	return report.Fail(report.Usage, remedy, "no user data was given: %s", message)
}

// checkNodePool fails if the user data belongs to a NodePool other than the one that the host has joined.
func (r *Request) checkNodePool(state joinstate.State) error {
	if r.UserData == nil || !state.Exists() || state.NodePool == "" || r.UserData.NodePool() == "" ||
		r.UserData.NodePool() == state.NodePool {
		return nil
	}
	return report.Fail(report.Refused,
		report.Remedyf("hcp-node-agent leave # prints how to delete the Node\nhcp-node-agent join --user-data %s",
			r.UserDataArgument()),
		"this host belongs to NodePool %s (join of %s); the user data is for NodePool %s",
		state.NodePool, state.Started.Format(time.DateOnly), r.UserData.NodePool())
}

// UserDataArgument returns the user data of the request as a word of a shell command: the file, or USER_DATA if it was
// not read from a file.
func (r *Request) UserDataArgument() string {
	if r.Config.UserData == "" || r.Config.UserData == "-" {
		return "USER_DATA"
	}
	return report.ShellWord(r.Config.UserData)
}
