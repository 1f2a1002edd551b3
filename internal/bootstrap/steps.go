// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"github.com/hcp-node-agent/hcp-node-agent/internal/stepname"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// Step is one step of a join.
type Step = steps.Step[*join]

// Steps returns the steps of a join in order. Help, --skip, --until, progress and
// documents use this list. Until validate has passed, the steps do not change the
// host, except that preflight rolls back an unfinished migration of the uplink.
func Steps() []Step {
	return []Step{
		{Name: stepname.Preflight, Description: "check the host and the ignition endpoint", Run: checkHost},
		{Name: stepname.Fetch, Description: "download the Ignition payload", Run: fetchPayload},
		{Name: stepname.Plan, Description: "adapt the payload to this host", Run: makePlan},
		{Name: stepname.Validate, Description: "run the checks that need the payload and the API server", Run: runValidation},
		{Name: stepname.Packages, Description: "ensure that the node's packages are installed", Run: ensurePackages},
		{Name: stepname.Files, Description: "write files, directories, links and unit files", Run: writeFiles},
		{Name: stepname.System, Description: "apply sysctls, kernel modules, CA trust; enable units", Run: configureSystem},
		{Name: stepname.Network, Description: "attach the uplink to br-ex", Independent: true, Run: attachUplink},
		{Name: stepname.Runtime, Description: "configure CRI-O's pause image and start CRI-O", Run: startRuntime},
		{Name: stepname.ClientCertificate, Description: "obtain the node's client certificate", Run: obtainClientCertificate},
		{Name: stepname.Kubelet, Description: "enable and start kubelet", Run: startKubelet},
		{Name: stepname.ServingCertificate, Description: "obtain kubelet's serving certificate", Run: awaitServing},
		{Name: stepname.Ready, Description: "wait until the Node is Ready", Run: awaitReady},
		{Name: stepname.Schedulable, Description: "wait until the Node is schedulable", Run: awaitSchedulable},
	}
}
