// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"cmp"
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
	Approver    []byte     // kubeconfig of an identity that can approve CSRs; nil if none was given
	Overrides   []Override // merged over the payload in this order
	JoinToken   *enrollment.Token
	NewUserData bool // the user data was given in this run, or the join that used it has finished
}

// Read reads the user data, the values that replace parts of it, the
// approver's kubeconfig, the join token and the Ignition overrides. It fails if
// a first join has no user data.
func Read(o Options, state joinstate.State) (Inputs, error) {
	in, err := ReadOptional(o, state)
	if err == nil && in.UserData == nil && !o.Resume && !state.Exists() {
		err = report.Fail(report.Usage,
			ignition.UserDataRemedy()+report.Remedyf("\n# on this host:\nhcp-node-agent %s --user-data user-data.ign", cmp.Or(o.Command, "join")),
			"no user data was given: the file that HyperShift stores for each NodePool")
	}
	return in, err
}

// ReadOptional is Read for a command that needs no user data.
func ReadOptional(o Options, state joinstate.State) (Inputs, error) {
	var in Inputs
	c, dir, resume, stdin := o.Config, o.StateDir, o.Resume, o.Stdin
	if err := checkStandardInput(c); err != nil {
		return in, err
	}
	var err error
	if in.JoinToken, err = readJoinToken(c, state, dir, resume, stdin); err != nil {
		return in, err
	}
	if in.Overrides, err = readOverrides(c, state, dir, resume, stdin); err != nil {
		return in, err
	}
	if c.ApproveWith != "" && !resume {
		if in.Approver, err = ReadFile(c.ApproveWith, stdin, "--approve-with"); err != nil {
			return in, err
		}
	}
	var raw []byte
	switch {
	case !resume && c.UserData == "" && c.Endpoint == "" && in.JoinToken != nil && in.JoinToken.UserData != nil:
		raw = in.JoinToken.UserData
	case resume || (c.UserData == "" && c.Endpoint == "" && state.Exists()):
		// Use the user data of the unfinished join. A finished join needs none.
		raw, err = joinstate.LoadFile(dir, joinstate.UserDataFile)
	case c.UserData != "":
		raw, err = ReadFile(c.UserData, stdin, "--user-data")
	}
	if err != nil {
		return in, err
	}
	if resume {
		// The saved user data contains the single values. Their files may no longer exist.
		if raw != nil {
			in.UserData, err = ignition.ParseUserData(raw)
		}
		return in, err
	}
	in.NewUserData = c.UserData != "" || c.Endpoint != "" || !state.Finished.IsZero()
	values, err := readUserDataValues(c)
	if err != nil {
		return in, err
	}
	switch {
	case raw != nil:
		if in.UserData, err = ignition.ParseUserData(raw); err == nil {
			in.UserData, err = in.UserData.Override(values)
		}
		return in, err
	case c.Endpoint != "":
		in.UserData, err = ignition.NewUserData(values)
		return in, err
	}
	return in, nil
}

// checkStandardInput fails if more than one input is to be read from standard
// input.
func checkStandardInput(c config.Join) error {
	var readers []string
	for _, one := range slices.Concat([]string{c.UserData, c.ApproveWith, c.JoinToken}, c.IgnitionOverrides) {
		if one == "-" {
			readers = append(readers, one)
		}
	}
	if len(readers) > 1 {
		return UsageError("only one of --user-data, --approve-with, --join-token and --ignition-override can read standard input")
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
