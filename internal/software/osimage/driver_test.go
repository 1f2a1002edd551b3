// SPDX-License-Identifier: Apache-2.0

package osimage

import "testing"

func TestDirectoryOf(t *testing.T) {
	for _, pullSpec := range []string{"quay.io:443/openshift/os@sha256:0a1b", "quay.io/openshift/os:4.21@sha256:0a1b"} {
		if got := DirectoryOf(pullSpec); got != Directory+"/sha256-0a1b" {
			t.Errorf("DirectoryOf(%q) = %q", pullSpec, got)
		}
	}
}
