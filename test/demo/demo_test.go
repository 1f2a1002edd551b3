// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The picture omits the preflight of the machine, and the lines between the result of the join and the approval.
func TestOmitted(t *testing.T) {
	shown := slices.DeleteFunc([]string{
		"# join", "  ✓ preflight  4 warnings", "      ! Debian", "  ✓ fetch", "worker-0 is Ready", "Actions for you",
		"  ! Debian", approvalHeading, "hcp-node-admin approve",
	}, omitted())
	want := []string{"# join", "  ✓ fetch", "worker-0 is Ready", approvalHeading, "hcp-node-admin approve"}
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
