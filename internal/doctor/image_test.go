// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/deployment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
)

func TestImageFindings(t *testing.T) {
	booted := deployment.Deployment{Version: "9.6.1", Digest: "sha256:1"}
	staged := deployment.Deployment{Version: "9.6.2", Digest: "sha256:2"}
	pending := deployment.Status{Booted: booted, Staged: &staged}
	for name, test := range map[string]struct {
		other       *plan.ImageUpdate
		deployments deployment.Status
		update      *joinstate.ImageUpdate
		want        []string
	}{
		"nothing to report":   {deployments: deployment.Status{Booted: booted}, want: []string{}},
		"staged by the agent": {deployments: pending, update: &joinstate.ImageUpdate{Digest: "sha256:2"}, want: []string{}},
		"staged by an administrator": {
			deployments: pending, want: []string{"warning: the next upgrade would be refused: another deployment is staged, " +
				"which the agent does not replace: 9.6.2, sha256:2 => rpm-ostree status # then reboot the host, or remove " +
				"the staged deployment: rpm-ostree cleanup -p"},
		},
		"another image": {
			other:       &plan.ImageUpdate{Image: "quay.io/os@sha256:2", Booted: booted},
			deployments: deployment.Status{Booted: booted},
			want: []string{"problem: the node runs 9.6.1, sha256:1, but its payload requires quay.io/os@sha256:2 => " +
				"hcp-node-agent upgrade --user-data USER_DATA"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			checkFindings(t, test.want, imageFindings(test.other, test.deployments, test.update))
		})
	}
}
