// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"path"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// UpdateTrustStore updates the trust store from the CAs on this host, durably, if
// update-ca-trust is installed, which syncs nothing.
func UpdateTrustStore(ctx context.Context) error {
	if !command.Exists("update-ca-trust") {
		return nil
	}
	if _, err := command.Run(ctx, "update-ca-trust"); err != nil {
		return err
	}
	tree, err := hostfs.OpenTree("/")
	if err != nil {
		return err
	}
	defer tree.Close()
	return tree.SyncFileSystem("/etc")
}

// UpdateTrustStoreIfNeeded updates the trust store if the files contain a CA for it.
// A payload without additional CAs contains an empty file.
func UpdateTrustStoreIfNeeded(ctx context.Context, files []ledger.Change) error {
	hasCA := func(c ledger.Change) bool { return path.Dir(c.Target) == crio.TrustAnchorsDir && c.Desired.Size > 0 }
	if !slices.ContainsFunc(files, hasCA) {
		return nil
	}
	return UpdateTrustStore(ctx)
}
