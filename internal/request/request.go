// SPDX-License-Identifier: Apache-2.0

package request

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Inputs contains everything that a join reads before it changes the host. All of
// it is secret.
type Inputs struct {
	UserData    *ignition.UserData
	Approver    []byte               // kubeconfig of an identity that can approve CSRs; nil if none was given
	Overrides   []joinstate.Override // merged over the payload in this order
	JoinToken   *enrollment.Token
	NewUserData bool // the user data was given in this run, or the join that used it has finished
}

// Read reads the user data, the values that replace parts of it, the
// approver's kubeconfig, the join token and the Ignition overrides. It fails if
// a first join has no user data. It blocks while it gets user data from the hosted
// cluster of the join token.
func Read(ctx context.Context, o Options, state joinstate.State) (Inputs, error) {
	in, err := ReadOptional(ctx, o, state)
	if err == nil && in.UserData == nil && !o.Resume && !state.Exists() {
		remedy, message := ignition.UserDataRemedyFor(cmp.Or(o.Command, "join")), "the file that HyperShift stores for each "+
			"NodePool"
		if in.JoinToken != nil {
			remedy = "# if the controller publishes the user data now: enroll the host again with the same command, and " +
				"copy the file again; else:\n" + remedy
			message = "the join token has no source of it"
		}
		err = report.Fail(report.Usage, remedy, "no user data was given: %s", message)
	}
	return in, err
}

// ReadOptional is Read for a command that needs no user data.
func ReadOptional(ctx context.Context, o Options, state joinstate.State) (Inputs, error) {
	var in Inputs
	c := o.Config
	if err := checkStandardInput(c); err != nil {
		return in, err
	}
	var err error
	if in.JoinToken, err = readJoinToken(c, state, o.StateDir, o.Resume, o.Stdin); err != nil {
		return in, err
	}
	if in.Overrides, err = readOverrides(c, state, o.StateDir, o.Resume, o.Stdin); err != nil {
		return in, err
	}
	if c.ApproveWith != "" && !o.Resume {
		if in.Approver, err = ReadFile(c.ApproveWith, o.Stdin, "--approve-with"); err != nil {
			return in, err
		}
	}
	in.NewUserData = !o.Resume && (c.UserData != "" || c.Endpoint != "" || !state.Finished.IsZero())
	in.UserData, err = readUserData(ctx, o, state, in.JoinToken)
	return in, err
}

// readUserData returns the user data, nil if there is none. What this run was given takes precedence: user data, then
// an endpoint, then a join token. Otherwise it is that of the unfinished join; a finished join needs none. Single
// values that are given in addition replace its values, except in a resumed run: the saved user data contains them,
// and their files may no longer exist.
func readUserData(
	ctx context.Context, o Options, state joinstate.State, token *enrollment.Token,
) (*ignition.UserData, error) {
	var raw []byte
	var err error
	switch c := o.Config; {
	case isInCluster(o, state, token):
		raw, err = getUserData(ctx, o.Sink, token)
	case o.Resume:
		raw, err = joinstate.LoadFile(o.StateDir, joinstate.UserDataFile)
	case c.UserData != "":
		raw, err = ReadFile(c.UserData, o.Stdin, "--user-data")
	case c.Endpoint != "": // the single values are the user data
	case token != nil && token.UserData != nil:
		raw = token.UserData
	case state.Exists():
		raw, err = joinstate.LoadFile(o.StateDir, joinstate.UserDataFile)
	}
	var values ignition.Values
	if err == nil && !o.Resume {
		values, err = readUserDataValues(o.Config)
	}
	switch {
	case err != nil:
		return nil, err
	case raw == nil && o.Config.Endpoint != "" && !o.Resume:
		return ignition.NewUserData(values)
	case raw == nil:
		return nil, nil //nolint:nilnil // there is none
	}
	userData, err := ignition.ParseUserData(raw)
	if err != nil || o.Resume {
		return userData, err
	}
	return userData.Override(values)
}

// checkStandardInput fails if more than one input is to be read from standard
// input.
func checkStandardInput(c config.Join) error {
	names := slices.Concat([]string{c.UserData, c.ApproveWith, c.JoinToken}, c.IgnitionOverrides)
	isFile := func(name string) bool { return name != "-" }
	if readers := slices.DeleteFunc(names, isFile); len(readers) > 1 {
		return UsageError("only one of --user-data, --approve-with, --join-token and --ignition-override can read standard " +
			"input")
	}
	return nil
}

// readUserDataValues reads the values that are given in addition to the user data
// or instead of it.
func readUserDataValues(c config.Join) (ignition.Values, error) {
	values := ignition.Values{Endpoint: c.Endpoint, NodePool: c.NodePool, Hash: c.ConfigHash}
	var errs [2]error
	if c.TokenFile != "" {
		values.Token, errs[0] = ReadFile(c.TokenFile, nil, "--token-file")
	}
	if c.CAFile != "" {
		values.CA, errs[1] = ReadFile(c.CAFile, nil, "--ca-file")
	}
	return values, errors.Join(errs[:]...)
}

const maxInputSize = 32 << 20 // 32 MiB; user data has about 2 kB, a payload about 500 kB

// ReadFile reads the file that a flag names, or standard input if name is "-". It fails if the
// input is empty or larger than maxInputSize.
func ReadFile(name string, stdin io.Reader, flag string) ([]byte, error) {
	source := stdin
	if name == "-" && stdin == nil {
		return nil, UsageError("%s: standard input is not supported; use a file", flag)
	}
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, UsageError("%s: %w", flag, err)
		}
		defer file.Close()
		source = file
	}
	content, err := io.ReadAll(io.LimitReader(source, maxInputSize+1))
	if err != nil {
		return nil, UsageError("%s: %w", flag, err)
	}
	if len(content) > maxInputSize {
		return nil, UsageError("%s: %s is larger than %d MiB", flag, DescribeInput(name), maxInputSize>>20)
	}
	if len(content) == 0 {
		return nil, UsageError("%s: %s is empty", flag, DescribeInput(name))
	}
	return content, nil
}

// DescribeInput returns the name of an input for messages.
func DescribeInput(name string) string {
	if name == "-" {
		return "standard input"
	}
	return fmt.Sprintf("%q", name)
}
