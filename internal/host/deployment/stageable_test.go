// SPDX-License-Identifier: Apache-2.0

package deployment

import (
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func TestCheckStageable(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Status)
		want   []string // parts of the messages
	}{
		"its own image":      {func(*Status) {}, nil},
		"it is staged":       {func(s *Status) { s.Staged = imageOf(second) }, nil},
		"previous image":     {func(s *Status) { s.Rollback = imageOf(third) }, nil},
		"pinned deployments": {func(s *Status) { s.Booted.Pinned, s.Rollback = true, imageOf(third) }, nil},
		"another image is staged": {
			func(s *Status) { s.Staged = &Deployment{Digest: third, Version: "9.6.2"} },
			[]string{"another deployment is staged, which the agent does not replace: 9.6.2, sha256:333333333333"},
		},
		"kernel arguments are staged": {
			func(s *Status) { s.Staged = imageOf(first) },
			[]string{"does not replace: the same image with other kernel arguments or packages"},
		},
		"queued rollback": {
			func(s *Status) { s.Rollback, s.RollbackQueued = &Deployment{Digest: second, Version: "9.6.0"}, true },
			[]string{"a rollback is queued, so that the next boot runs 9.6.0, sha256:222222222222"},
		},
		"layered packages": {
			func(s *Status) { s.Booted.Modified, s.Booted.Packages = true, []string{"jq", "kernel"} },
			[]string{"packages are layered onto the image (jq, kernel)"},
		},
		"unknown layered packages": {
			func(s *Status) { s.Booted.Modified = true }, []string{"packages are layered onto the image (unknown)"},
		},
		"several": {
			func(s *Status) { s.TransientEtc, s.Unlocked, s.Staged = true, true, imageOf(third) },
			[]string{"makes /etc temporary", "/usr is unlocked", "another deployment is staged"},
		},
	} {
		status := Status{Booted: *imageOf(first)}
		test.change(&status)
		got := CheckStageable(status, second)
		if len(got) != len(test.want) {
			t.Errorf("%s: findings %v, want %q", name, got, test.want)
			continue
		}
		for i, finding := range got {
			if !strings.Contains(finding.Message, test.want[i]) || finding.Severity != report.SeverityProblem ||
				!finding.RefusesJoin || finding.Remedy == "" || strings.Contains(string(finding.Remedy), "reset") {
				t.Errorf("%s: finding %+v, want %q", name, finding, test.want[i])
			}
		}
	}
}

func TestHasDigest(t *testing.T) {
	for name, test := range map[string]struct {
		deployment Deployment
		digest     string
		want       bool
	}{
		"the same":        {Deployment{Digest: first}, first, true},
		"another":         {Deployment{Digest: first}, second, false},
		"of an index":     {Deployment{Image: "quay.io/os@" + second, Digest: first}, second, true},
		"no image":        {Deployment{Checksum: "aaaa"}, "", false},
		"another of both": {Deployment{Image: "quay.io/os@" + second, Digest: first}, third, false},
	} {
		if got := test.deployment.HasDigest(test.digest); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
