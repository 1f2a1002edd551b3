// SPDX-License-Identifier: Apache-2.0

//go:build vm

package vm_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/test/vm"
)

// newLAN creates a LAN that is removed when the test ends.
func newLAN(t *testing.T) vm.Network {
	t.Helper()
	lan, err := vm.NewLAN(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lan.Close() })
	return lan.Network
}

// buildImage returns the directory of the image, and builds the image if necessary.
func buildImage(t *testing.T) string {
	t.Helper()
	dir, err := vm.BuildImage(t.Context(), filepath.Join("..", ".."), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// output runs a command that must succeed and returns its output.
func output(ctx context.Context, t *testing.T, c *vm.Channel, command string) string {
	t.Helper()
	out, err := c.Output(ctx, command)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
