// SPDX-License-Identifier: Apache-2.0

package hostfs

import "testing"

func TestSyncsOfTheRunningHostAreNeverSkipped(t *testing.T) {
	for root, want := range map[string]bool{"/": false, "//": false, t.TempDir(): true} {
		tree, err := OpenTree(root)
		if err != nil {
			t.Fatal(err)
		}
		tree.SkipSyncs()
		if got := tree.SkipsSyncs(); got != want {
			t.Errorf("%s: %t, want %t", root, got, want)
		}
		if err := tree.Close(); err != nil {
			t.Error(err)
		}
	}
}
