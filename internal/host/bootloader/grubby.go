// SPDX-License-Identifier: Apache-2.0

package bootloader

import (
	"context"
	"errors"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
)

// grubby is the tool of RHEL. It also changes the defaults for kernels that are installed later.
type grubby struct{}

// Arguments returns the arguments of the default kernel.
func (grubby) Arguments(ctx context.Context) ([]string, error) {
	out, err := command.Run(ctx, "grubby", "--info=DEFAULT")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(out) {
		if args, found := strings.CutPrefix(strings.TrimSpace(line), "args="); found {
			// Quotation marks within the value are not escaped.
			return strings.Fields(strings.TrimSuffix(strings.TrimPrefix(args, `"`), `"`)), nil
		}
	}
	return nil, errors.New("grubby prints no arguments of the default kernel")
}

// Change runs grubby once, because the order of added arguments can matter. grubby replaces
// existing arguments with the key of an added one.
func (grubby) Change(ctx context.Context, add, remove []string) error {
	args := []string{"--update-kernel=ALL"}
	if len(add) > 0 {
		args = append(args, "--args="+strings.Join(add, " "))
	}
	if len(remove) > 0 {
		args = append(args, "--remove-args="+strings.Join(remove, " "))
	}
	_, err := command.Run(ctx, "grubby", args...)
	return err
}
