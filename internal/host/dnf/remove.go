// SPDX-License-Identifier: Apache-2.0

package dnf

import (
	"context"
	"errors"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
)

// Requirers returns the installed packages that require one of the given packages. It does not
// use the network.
func (h Host) Requirers(ctx context.Context, of ...Package) ([]Package, error) {
	names := lists.Map(of, Package.String)
	out, err := h.run(ctx, "querying which packages require "+strings.Join(names, ", "), nil,
		"--disablerepo=*", "repoquery", "--installed", "--queryformat", installedFields,
		"--whatrequires", strings.Join(names, ","))
	return packages(out), err
}

// Remove removes installed packages. dnf also removes packages that require them, but no packages
// that nothing requires afterwards. comment is stored in dnf's history. When ctx ends, dnf is
// interrupted; it finishes a running transaction. The removal is durable when Remove returns.
func (h Host) Remove(ctx context.Context, comment string, logLine func(line string), list ...Package) error {
	args := []string{"--disablerepo=*", "--assumeyes", "--comment", comment, "remove", "--noautoremove"}
	_, err := h.run(ctx, "removing packages", logLine, append(args, lists.Map(list, Package.String)...)...)
	return errors.Join(err, h.sync())
}
