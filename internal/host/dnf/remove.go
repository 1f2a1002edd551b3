// SPDX-License-Identifier: Apache-2.0

package dnf

import (
	"context"
	"fmt"
	"strings"
)

// Requirers returns the installed packages that require one of the given packages. It does not
// use the network.
func (h Host) Requirers(ctx context.Context, of ...Package) ([]Package, error) {
	var names []string
	for _, p := range of {
		names = append(names, p.String())
	}
	out, stderr, err := h.run(ctx, nil, "--disablerepo=*", "repoquery", "--installed", "--queryformat", installedFields,
		"--whatrequires", strings.Join(names, ","))
	if err != nil {
		return nil, fmt.Errorf("querying which packages require %s: %w", strings.Join(names, ", "), explain(err, stderr, out))
	}
	return packages(out), nil
}

// Remove removes installed packages. dnf also removes packages that require them, but no packages
// that nothing requires afterwards. comment is stored in dnf's history. When ctx ends, dnf is
// interrupted; it finishes a running transaction.
func (h Host) Remove(ctx context.Context, comment string, logLine func(line string), list ...Package) error {
	args := []string{"--disablerepo=*", "--assumeyes", "--noautoremove", "--comment", comment, "remove"}
	for _, p := range list {
		args = append(args, p.String())
	}
	out, stderr, err := h.run(ctx, logLine, args...)
	if err != nil {
		return fmt.Errorf("removing packages: %w", explain(err, stderr, out))
	}
	return nil
}
