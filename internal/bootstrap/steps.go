package bootstrap

import (
	"github.com/hcp-node-agent/hcp-node-agent/internal/inputs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// Step is one step of a join.
type Step = steps.Step[*join]

// Steps returns the steps of a join in order. Help, --skip, --until, progress and
// documents use this list. Until admission has passed, the steps do not change the
// host, except that preflight rolls back an unfinished migration of the uplink.
func Steps() []Step {
	return []Step{
		{Name: "preflight", Description: "check the host and the ignition endpoint", Run: checkHost},
		{Name: "fetch", Description: "get the NodePool's payload from the ignition server", Required: true, Run: fetchPayload},
		{Name: "plan", Description: "adapt the payload to this host", Required: true, Run: makePlan},
		{Name: "admission", Description: "check what can only be checked with the payload", Run: runValidation},
		{Name: "packages", Description: "see that the node's packages are installed", Run: ensurePackages},
		{Name: "files", Description: "write files, directories, links and unit files", Run: writeFiles},
		{Name: "host", Description: "kernel parameters and modules, trust, enable units", Run: configureSystem},
		{Name: "network", Description: "move the uplink into br-ex", Independent: true, Run: attachUplink},
		{Name: "runtime", Description: "give CRI-O its pause image and start it", Run: startRuntime},
		{Name: "identity", Description: "get the node its client certificate", Until: "identity", Run: obtainClientCertificate},
		{Name: "kubelet", Description: "enable and start kubelet", Until: "kubelet", Run: startKubelet},
		{Name: "serving", Description: "get kubelet its serving certificate", Run: awaitServing},
		{Name: "ready", Description: "wait until the cluster reports the node Ready", Until: "ready", Run: awaitReady},
		{Name: "schedulable", Description: "wait until no taint keeps pods away", Until: "schedulable", Run: awaitSchedulable},
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
