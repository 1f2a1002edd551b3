// SPDX-License-Identifier: Apache-2.0

package service

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
)

// If the ledger does not contain kubelet's address configuration, nothing must be
// searched, awaited or written.
func TestRefreshNodeIPIgnoresAForeignHost(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	changes, err := RefreshNodeIP(t.Context(), request.Options{StateDir: dir})
	if err != nil || changes.Changed || len(changes.Addresses) > 0 ||
		!strings.Contains(changes.Note, "has not configured a node IP") {
		t.Errorf("%+v, %v", changes, err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a state directory was made")
	}
}
