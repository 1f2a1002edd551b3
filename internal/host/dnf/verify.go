// SPDX-License-Identifier: Apache-2.0

package dnf

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
)

// Damaged returns those of the packages that are installed and have a file that is missing or has another content
// than in the package. Configuration files are not compared.
func (h Host) Damaged(ctx context.Context, list ...Package) ([]Package, error) {
	args := []string{
		"--verify", "--noconfig", "--noghost", "--nodeps", "--noscripts",
		"--nomtime", "--nomode", "--nouser", "--nogroup", "--nordev", "--nocaps",
	}
	if h.Root != "" {
		args = append([]string{"--root", h.Root}, args...)
	}
	var damaged []Package
	for _, p := range list {
		out, err := command.Run(ctx, "rpm", append(args, p.String())...)
		var differs *command.Error
		if err != nil && !errors.As(err, &differs) {
			return nil, fmt.Errorf("verifying %s: %w", p, err)
		}
		if err != nil && !strings.Contains(out, "is not installed") {
			damaged = append(damaged, p)
		}
	}
	return damaged, nil
}

// Reinstall installs packages of the installed versions again, like Install.
func (h Host) Reinstall(ctx context.Context, comment string, logLine func(line string), list ...Package) error {
	args := append([]string{"--comment", comment, "reinstall"}, lists.Map(list, Package.String)...)
	return errors.Join(h.install(ctx, logLine, args), h.sync())
}
