// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/deployment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/hostclass"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// bootCompleteUnit fails if the staged deployment could not be finalized at the last shutdown. The host then runs the
// deployment that it ran before (ostree, src/libostree/ostree-sysroot-deploy.c).
const bootCompleteUnit = "ostree-boot-complete.service"

// deploymentsRemedy prints what the agent could not read.
const deploymentsRemedy = "bootc status --format=json --format-version=1"

// checkImageMode refuses hosts in image mode whose changes would be lost, and reports deployments that boot next.
func checkImageMode(f HostFacts) []report.Finding {
	switch {
	case !f.Host.Capabilities().HasImage:
		return nil
	case f.DeploymentsError != nil:
		return errorFinding(deploymentsRemedy, "the deployments of this host are unknown: %v", f.DeploymentsError)
	case f.Deployments == nil:
		return nil // without root; the check for root reports it
	}
	return slices.Concat(checkBootedImage(f), checkNextImage(f))
}

// checkBootedImage returns the reasons why changes of the host would be lost.
func checkBootedImage(f HostFacts) []report.Finding {
	return slices.Concat(
		errorIf(f.Units[bootCompleteUnit].Active == "failed",
			"journalctl -b -u "+bootCompleteUnit+" # the cause; often /boot is full: df -h /boot",
			"the last update of the image was not completed, so that the host runs the image before it"),
		deployment.CheckVolatile(*f.Deployments),
	)
}

// checkNextImage returns the findings about what boots next, and what prevents updates.
func checkNextImage(f HostFacts) []report.Finding {
	var found []report.Finding
	if next := f.Deployments.Next(); next != nil {
		found = append(found, warningFinding("bootc status # then reboot the host before the join, unless the images have "+
			"the same kubelet and CRI-O", "another deployment boots next: %s", next.Describe(f.Deployments.Booted))...)
	}
	layered := Result{Findings: deployment.CheckLayered(f.Deployments.Booted)}
	return append(found, layered.WithoutRefusal().Findings...)
}

// checkReadOnly refuses a host whose image has directories of the payload in its read-only part.
func checkReadOnly(f PayloadFacts) []report.Finding {
	return errorIf(len(f.ReadOnlyDirectories) > 0, "# replace them in the image by links to /var, such as "+
		"/usr/local to /var/usrlocal (docs/image-mode.md)",
		"the payload has files in directories that are read-only in the image of this host: %s",
		strings.Join(f.ReadOnlyDirectories, ", "))
}

// ForClass returns the result with remedies for hosts of a class.
func (r Result) ForClass(class hostclass.Class) Result {
	if !class.Capabilities().HasImage {
		return r
	}
	r.Findings = slices.Clone(r.Findings)
	for i := range r.Findings {
		r.Findings[i].Remedy = r.Findings[i].Remedy.ForImageMode()
	}
	return r
}
