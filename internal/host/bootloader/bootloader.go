// SPDX-License-Identifier: Apache-2.0

// Package bootloader reads and changes the kernel arguments with which the host boots.
package bootloader

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
)

// BootLoader reads and changes the kernel arguments of the next boot. An argument is one word.
type BootLoader interface {
	// Arguments returns the arguments of the default kernel in their order.
	Arguments(ctx context.Context) ([]string, error)
	// Change changes the arguments of all kernels, including kernels that are installed later, from
	// those that Arguments has returned to others.
	Change(ctx context.Context, from, to []string) error
}

// Find returns the configuration tool of the host's boot loader, nil if it is not installed. In image mode, the
// arguments belong to a deployment.
func Find(imageMode bool) BootLoader {
	switch {
	case imageMode && command.Exists("rpm-ostree"):
		return rpmOSTree{}
	case !imageMode && command.Exists("grubby"):
		return grubby{}
	}
	return nil
}
