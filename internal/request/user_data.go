// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"errors"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
)

// readUserData returns the user data, nil if there is none. What this run was given takes precedence: user data, then
// an endpoint, then a join token. Otherwise it is that of the unfinished join; a finished join needs none. Single
// values that are given in addition replace its values, except in a resumed run: the saved user data contains them,
// and their files may no longer exist.
func (r *reader) readUserData(ctx context.Context) (*ignition.UserData, error) {
	var raw []byte
	var err error
	switch token := r.request.JoinToken; {
	case r.isInCluster():
		raw, err = getUserData(ctx, r.Sink, token)
	case r.given.UserData != "":
		raw, err = r.readFile(r.given.UserData, "--user-data")
	case r.given.Endpoint != "": // the single values are the user data
	case token != nil && token.UserData != nil:
		raw = token.UserData
	case r.state.Exists():
		raw, err = joinstate.LoadFile(r.StateDir, joinstate.UserDataFile)
	}
	var values ignition.Values
	if err == nil {
		values, err = readUserDataValues(r.given)
	}
	switch {
	case err != nil:
		return nil, err
	case raw == nil && r.given.Endpoint != "":
		return ignition.NewUserData(values)
	case raw == nil:
		return nil, nil //nolint:nilnil // there is none
	}
	userData, err := ignition.ParseUserData(raw)
	if err != nil || r.Resume {
		return userData, err
	}
	return userData.Override(values)
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
