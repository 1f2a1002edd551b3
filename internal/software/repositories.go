// SPDX-License-Identifier: Apache-2.0

package software

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

var (
	ofRHEL    = regexp.MustCompile(`-for-rhel-(\d+)-|^rhel-(\d+)-for-`)
	ofRelease = regexp.MustCompile(`^rhocp-(\d+\.\d+)-for-`)
)

// checkRepositories adds findings for enabled repositories of another RHEL or another release.
// Only the IDs of RHEL's own repositories contain them. For a mirror, the packages are
// compared.
func (d *decision) checkRepositories() {
	for _, r := range d.facts.Repositories {
		if !r.Enabled {
			continue
		}
		if match := ofRHEL.FindStringSubmatch(r.ID); match != nil {
			major, _ := strconv.Atoi(match[1] + match[2]) // digits
			if major != d.rhel {
				d.addFinding(report.SeverityProblem, d.disableRemedy(r.ID),
					"repository %s is for RHEL %d, but this host runs RHEL %d: its packages are incompatible",
					r.ID, major, d.rhel)
				continue
			}
		}
		match := ofRelease.FindStringSubmatch(r.ID)
		if match == nil || d.Release.IsZero() {
			continue
		}
		if other, err := ParseRelease(match[1]); err == nil && !d.table.isSame(other, d.Release) {
			d.addFinding(report.SeverityWarning, d.disableRemedy(r.ID),
				"repository %s is for OpenShift %s, but the NodePool has %s: the next dnf update can install an "+
					"incompatible kubelet or CRI-O", r.ID, other, d.Release)
		}
	}
}

func (d *decision) disableRemedy(id string) report.Remedy {
	switch {
	case d.facts.Subscription == NoSubscription && d.facts.DNF5:
		return report.Remedyf("dnf config-manager setopt %s.enabled=0", id)
	case d.facts.Subscription == NoSubscription:
		return report.Remedyf("dnf config-manager --set-disabled %s", id)
	}
	return report.Remedyf("subscription-manager repos --disable=%s", id)
}

// checkSignatures adds a warning for repositories without signature checks that provide a missing
// package.
func (d *decision) checkSignatures() {
	var ids []string
	for _, c := range d.With(ToInstall, ToReplace, Offered) {
		for _, r := range d.facts.Repositories {
			if r.ID == c.From && r.SignaturesUnchecked {
				ids = lists.AppendMissing(ids, r.ID)
			}
		}
	}
	if len(ids) > 0 {
		d.addFinding(report.SeverityWarning,
			"rpm --import KEY # public key of the signer; also set gpgcheck=1 in the repository's file in /etc/yum.repos.d",
			"%s is configured with gpgcheck=0; --install-packages still requires packages signed with a key that rpm "+
				"or the repository trusts", strings.Join(ids, ", "))
	}
}
