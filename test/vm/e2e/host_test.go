// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/test/hoststate"
)

// hostState returns the state of the machine as comparable lines.
func hostState(ctx context.Context, t *testing.T) []string {
	t.Helper()
	out, err := environment.Machine.Output(ctx, hoststate.Script)
	must(t, err)
	return strings.Split(out, "\n")
}

// checkHostState fails the test if the state of the machine differs from before.
func checkHostState(ctx context.Context, t *testing.T, before []string) {
	t.Helper()
	if diff := cmp.Diff(before, hostState(ctx, t)); diff != "" {
		t.Errorf("the host is not restored (-before +now):\n%s", diff)
	}
}
