// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"runtime/debug"
	"testing"
)

func TestVersionDetails(t *testing.T) {
	stamped := []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}}
	for name, c := range map[string]struct {
		linked   VersionDocument
		settings []debug.BuildSetting
		want     string
	}{
		"from a repository": {settings: stamped, want: "commit abc, 2026-01-02T03:04:05Z, go1, linux/amd64"},
		"from a source package": {
			linked: VersionDocument{Commit: "def", CommitDate: "2026-02-03T00:00:00Z"},
			want:   "commit def, 2026-02-03T00:00:00Z, go1, linux/amd64",
		},
		"linked in a checkout": {
			linked: VersionDocument{Commit: "def", CommitDate: "2026-02-03T00:00:00Z"}, settings: stamped,
			want: "commit def, 2026-02-03T00:00:00Z, go1, linux/amd64",
		},
		"unknown": {want: "go1, linux/amd64"},
	} {
		document := c.linked
		document.Go, document.Platform = "go1", "linux/amd64"
		document.addSource(c.settings)
		if got := document.details(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
