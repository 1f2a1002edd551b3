// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"path/filepath"

	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
)

// stagedSpecsFile is the file with the specs of the packages in joinstate.PackagesDir.
const stagedSpecsFile = "specs"

// useStagedPackages makes dnf read only what stagePackages has downloaded, if there is anything.
func (r *run) useStagedPackages() {
	dir := filepath.Join(r.node.Run.Dir, joinstate.PackagesDir)
	if specs, err := joinstate.LoadFile(dir, stagedSpecsFile); err == nil && specs != nil {
		r.node.Session.PackageHost.Cache, r.node.Session.PackageHost.CacheOnly = dir, true
	}
}
