// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
)

// Saved is the payload that an earlier run saved, unless the user data requires another one.
//
// The config hash in the user data of a NodePool covers its configuration and release, and the names of its
// pull secret and CAs, but not their contents. While a join is unfinished, an equal hash is sufficient,
// because the token may have expired. If a host that has joined is given user data with another token, the
// payload is fetched again. The host then gets the current contents and the bootstrap credential that was
// removed. With the same user data, this happens only if the node needs this credential.
//
// The user data of a standalone cluster does not identify a configuration, and its server requires no token.
// A join with that user data, and a later join, therefore get the current configuration. The cluster's own
// machine-config-daemon has applied it to the host before.
type Saved struct {
	Dir     string // of the agent's records
	State   joinstate.State
	Request request.Request
	// NeedsCredential means that the node has no valid client certificate, and thus needs the bootstrap credential. A
	// finished join has removed it from the saved payload.
	NeedsCredential bool
}

// Kind returns KindSaved.
func (Saved) Kind() Kind { return KindSaved }

// Get returns the saved payload, nil if another one is required, or if it is damaged.
func (s Saved) Get(context.Context, report.Log) (*ignition.Payload, error) {
	raw, err := joinstate.LoadFile(s.Dir, joinstate.PayloadFile)
	if err != nil || raw == nil {
		return nil, err
	}
	isOther, err := s.requiresOther()
	if err != nil || isOther {
		return nil, err
	}
	payload, err := ignition.LoadPayload(raw)
	if err != nil {
		return nil, nil //nolint:nilnil,nilerr // damaged: it is fetched again
	}
	if s.NeedsCredential && s.Request.UserData != nil && payload.BootstrapKubeconfig() == nil {
		return nil, nil //nolint:nilnil // the ignition server has it
	}
	return payload, nil
}

// requiresOther reports whether the user data requires another payload than the saved one.
func (s Saved) requiresOther() (bool, error) {
	userData := s.Request.UserData
	switch {
	case userData == nil:
		return false, nil
	case userData.ConfigHash() != s.State.PayloadConfigHash:
		return true, nil
	case !userData.IsHosted():
		return s.Request.NewUserData, nil
	case s.State.Finished.IsZero():
		return false, nil
	}
	by, err := userData.Digest()
	return by != s.State.PayloadSourceDigest, err
}
