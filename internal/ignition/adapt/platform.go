// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// foreignPlatform returns the platform that a payload was rendered for, and the evidence. It
// returns nothing for platform None. On a hosted cluster, an external cloud provider is
// evidence, too: no controller would initialize the Node. Excluded entries are ignored.
func (p *planner) foreignPlatform() (platform string, evidence []string) {
	names := excludableNames(p.payload)
	for _, mark := range p.table.Platforms {
		if slices.Contains(names, mark.Name) && !isExcluded(p.in.Exclude, mark.Name) {
			platform = mark.Platform
			evidence = append(evidence, mark.Name)
		}
	}
	if u, found := p.units.find(kubeletUnit); found && !isExcluded(p.in.Exclude, u.Name) {
		u.Dropins = slices.DeleteFunc(slices.Clone(u.Dropins), func(d types.Dropin) bool {
			return isExcluded(p.in.Exclude, u.Name+"/"+d.Name)
		})
		if slices.Contains(sectionValues(u, "Service", "EnvironmentFile"), "/etc/kubernetes/node.env") {
			evidence = append(evidence, kubeletUnit+" with EnvironmentFile=/etc/kubernetes/node.env")
		}
		if p.in.Hosted && slices.ContainsFunc(sectionValues(u, "Service", "ExecStart"), usesCloudProvider) {
			evidence = append(evidence, kubeletUnit+" with --cloud-provider=external")
		}
	}
	return platform, evidence
}

func usesCloudProvider(command string) bool {
	return slices.Contains(strings.Fields(command), "--cloud-provider=external")
}

// checkPlatform returns an error if the payload was rendered for another platform.
func (p *planner) checkPlatform() error {
	platform, evidence := p.foreignPlatform()
	if !p.isAdapted() || len(evidence) == 0 {
		return nil
	}
	named := "a platform other than None"
	if platform != "" {
		named = "platform " + platform
	}
	remedy := report.Remedy("# join with the user data of a NodePool of platform None; " +
		"list the platforms of all NodePools:\n" +
		"oc get nodepool -A -o custom-columns=NAMESPACE:.metadata.namespace,NAME:.metadata.name,PLATFORM:.spec.platform.type")
	if !p.in.Hosted {
		remedy = "# this host can only join clusters of platform None or BareMetal; print the platform of this cluster:\n" +
			"oc get infrastructure cluster -o jsonpath='{.status.platformStatus.type}'"
	}
	return report.Fail(report.Refused, remedy,
		"the payload was rendered for %s, whose units and kubelet settings do not work on this host: it contains %s",
		named, joinNames(evidence))
}

// joinNames joins names for use in a sentence.
func joinNames(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return fmt.Sprintf("%s and %s", strings.Join(names[:len(names)-1], ", "), names[len(names)-1])
}
