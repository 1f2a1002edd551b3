package bootstrap

import (
	"github.com/hcp-node-agent/hcp-node-agent/internal/inputs"
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
		{Name: stepname.Fetch, Description: "get the NodePool's payload from the ignition server", Required: true, Run: fetchPayload},
		{Name: stepname.Plan, Description: "adapt the payload to this host", Required: true, Run: makePlan},
		{Name: stepname.Validate, Description: "check what can only be checked with the payload", Run: runValidation},
		{Name: stepname.Packages, Description: "see that the node's packages are installed", Run: ensurePackages},
		{Name: stepname.Files, Description: "write files, directories, links and unit files", Run: writeFiles},
		{Name: stepname.System, Description: "kernel parameters and modules, trust, enable units", Run: configureSystem},
		{Name: stepname.Network, Description: "move the uplink into br-ex", Independent: true, Run: attachUplink},
		{Name: stepname.Runtime, Description: "give CRI-O its pause image and start it", Run: startRuntime},
		{Name: stepname.ClientCertificate, Description: "get the node its client certificate", Run: obtainClientCertificate},
		{Name: stepname.Kubelet, Description: "enable and start kubelet", Run: startKubelet},
		{Name: stepname.ServingCertificate, Description: "get kubelet its serving certificate", Run: awaitServing},
		{Name: stepname.Ready, Description: "wait until the cluster reports the node Ready", Run: awaitReady},
		{Name: stepname.Schedulable, Description: "wait until no taint keeps pods away", Run: awaitSchedulable},
	}
}

// checkSkip fails if --skip names a step that does not exist or cannot be skipped.
func checkSkip(names []string) error {
	for _, name := range names {
		found := false
		for _, step := range Steps() {
			if step.Name != name {
				continue
			}
			if found = true; step.Required {
				return inputs.UsageError("--skip %s: the steps after it need its result", name)
			}
		}
		if !found {
			return inputs.UsageError("--skip %s: there is no such step", name)
		}
	}
	return nil
}
