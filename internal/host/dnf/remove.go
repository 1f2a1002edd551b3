// SPDX-License-Identifier: Apache-2.0

package dnf

import (
	"context"
	"strings"
)

// Requirers returns the installed packages that require one of the given packages. It does not
// use the network.
func (h Host) Requirers(ctx context.Context, of ...Package) ([]Package, error) {
	var names []string
	for _, p := range of {
		names = append(names, p.String())
	}
	out, err := h.run(ctx, "querying which packages require "+strings.Join(names, ", "), nil,
		"--disablerepo=*", "repoquery", "--installed", "--queryformat", installedFields,
		"--whatrequires", strings.Join(names, ","))
	return packages(out), err
}

// Remove removes installed packages. dnf also removes packages that require them, but no packages
// that nothing requires afterwards. comment is stored in dnf's history. When ctx ends, dnf is
// interrupted; it finishes a running transaction.
func (h Host) Remove(ctx context.Context, comment string, logLine func(line string), list ...Package) error {
	args := []string{"--disablerepo=*", "--assumeyes", "--noautoremove", "--comment", comment, "remove"}
	for _, p := range list {
		args = append(args, p.String())
	}
	_, err := h.run(ctx, "removing packages", logLine, args...)
	return err
}
