// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/inputs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// ApplyOverrides merges the overrides over a payload. It first fetches the
// resources to which the overrides refer, with the proxy and CAs of the user data,
// and embeds them.
func (b *Builder) ApplyOverrides(ctx context.Context, p *ignition.Payload, log report.Log) (*ignition.Payload, error) {
	configs := make([][]byte, 0, len(b.Inputs.Overrides))
	for i, one := range b.Inputs.Overrides {
		whole, err := ignition.OpenOverride(ctx, inputs.DescribeInput(one.Name), one.Config, b.Inputs.UserData, log)
		if err != nil {
			return nil, err
		}
		b.Inputs.Overrides[i].Config = whole
		configs = append(configs, whole)
	}
	return p.Override(configs...)
}

// LoadPayload gets the payload and merges the administrator's overrides over it. It
// reports whether the payload was saved by an earlier run.
func (b *Builder) LoadPayload(ctx context.Context, log report.Log) (kept bool, err error) {
	if b.payloadFile != nil {
		return false, b.loadPayloadFile()
	}
	if kept, err = b.loadBasePayload(ctx, log); err != nil {
		return kept, err
	}
	b.Payload, err = b.ApplyOverrides(ctx, b.Payload, log)
	return kept, err
}

// FetchPayload downloads the payload to which the user data refers, and merges the overrides over it.
func (b *Builder) FetchPayload(ctx context.Context, log report.Log) error {
	payload, err := b.Fetcher(log).Fetch(ctx, b.Inputs.UserData)
	if err != nil {
		return err
	}
	b.Payload, err = b.ApplyOverrides(ctx, payload, log)
	return err
}

// loadPayloadFile parses the payload that was given as a file, and merges the overrides over it. It
// does not use the network.
func (b *Builder) loadPayloadFile() error {
	if _, err := ignition.ParseUserData(b.payloadFile); err == nil {
		return report.Fail(report.Usage, "# pass the file with --user-data; --payload requires the rendered config to which the user data refers",
			"the file of --payload is user data, not a payload")
	}
	payload, err := ignition.LoadPayload(b.payloadFile)
	if err != nil {
		return err
	}
	var overrides [][]byte
	for _, one := range b.Inputs.Overrides {
		overrides = append(overrides, one.Config)
	}
	b.Payload, err = payload.Override(overrides...)
	return err
}

// loadBasePayload gets the payload without overrides: the saved one, else the
// server's.
func (b *Builder) loadBasePayload(ctx context.Context, log report.Log) (kept bool, err error) {
	if b.Payload, err = b.SavedPayload(); err != nil || b.Payload != nil {
		return true, err
	}
	if b.Inputs.UserData == nil {
		return false, report.Fail(report.Usage, "# run the command again with --user-data FILE: the current user data of the NodePool",
			"the payload of this node must be downloaded again, because %s is missing or damaged, and no user data was given",
			filepath.Join(b.Dir, joinstate.PayloadFile))
	}
	b.Payload, err = b.Fetcher(log).Fetch(ctx, b.Inputs.UserData)
	return false, err
}

// Fetcher returns the client of the Ignition server.
func (b *Builder) Fetcher(log report.Log) ignition.Fetcher {
	return ignition.Fetcher{ConnectTo: b.Config.ConnectTo, Log: log}
}

// PayloadSummary describes the payload in one line.
func (b *Builder) PayloadSummary() string {
	text := fmt.Sprintf("%d files, %d units, %d kB", b.Payload.FileCount(), b.Payload.UnitCount(), len(b.Payload.Raw)/1000)
	switch n := len(b.Inputs.Overrides); n {
	case 0:
		return text
	case 1:
		return text + ", with 1 override"
	default:
		return fmt.Sprintf("%s, with %d overrides", text, n)
	}
}

// SavedPayload returns the payload that an earlier run saved, or nil if the user
// data requires another one.
//
// The config hash in the user data of a NodePool covers its configuration and
// release, and the names of its pull secret and CAs, but not their contents. While
// a join is unfinished, an equal hash is sufficient, because the token may have
// expired. If a host that has joined is given user data with another token, the
// payload is fetched again. The host then gets the current contents and the
// bootstrap credential that was removed.
//
// The user data of a standalone cluster does not identify a configuration, and its
// server requires no token. A join with that user data, and a later join, therefore
// get the current configuration. The cluster's own machine-config-daemon has
// applied it to the host before.
func (b *Builder) SavedPayload() (*ignition.Payload, error) {
	raw, err := joinstate.LoadFile(b.Dir, joinstate.PayloadFile)
	if err != nil || raw == nil {
		return nil, err
	}
	if userData := b.Inputs.UserData; userData != nil && userData.ConfigHash() != b.State.PayloadConfigHash {
		return nil, nil //nolint:nilnil // it is of another configuration
	}
	renew, err := b.needsRefetch()
	if err != nil || renew {
		return nil, err
	}
	payload, err := ignition.LoadPayload(raw)
	if err != nil {
		return nil, nil //nolint:nilnil,nilerr // damaged: it is fetched again
	}
	return payload, nil
}

// needsRefetch reports whether the user data requires the current payload, even if
// one was saved.
func (b *Builder) needsRefetch() (bool, error) {
	userData := b.Inputs.UserData
	switch {
	case userData == nil:
		return false, nil
	case !userData.IsHosted():
		return b.Inputs.NewUserData, nil
	case b.State.Finished.IsZero():
		return false, nil
	}
	by, err := userData.Digest()
	return by != b.State.PayloadSourceDigest, err
}
