package bootstrap

// Steps returns the steps of a join in order. Help, --skip, --until, progress and
// documents use this list. No step before admission has passed changes the host.
func Steps() []Step {
	return []Step{
		{Name: "preflight", Does: "check the host and the ignition endpoint", run: checkHost},
		{Name: "fetch", Does: "get the NodePool's payload from the ignition server", Needed: true, run: fetch},
		{Name: "plan", Does: "adapt the payload to this host", Needed: true, run: makePlan},
		{Name: "admission", Does: "check what can only be checked with the payload", run: checkAdmission},
		{Name: "packages", Does: "see that the node's packages are installed", run: checkPackages},
		{Name: "files", Does: "write files, directories, links and unit files", run: writeFiles},
		{Name: "host", Does: "kernel parameters and modules, trust, enable units", run: setUpHost},
		{Name: "network", Does: "move the uplink into br-ex", Alone: true, run: buildBridge},
		{Name: "runtime", Does: "give CRI-O its pause image and start it", run: startRuntime},
		{Name: "identity", Does: "get the node its client certificate", Until: "identity", run: getIdentity},
		{Name: "kubelet", Does: "enable and start kubelet", Until: "kubelet", run: startKubelet},
		{Name: "serving", Does: "get kubelet its serving certificate", run: awaitServing},
		{Name: "ready", Does: "wait until the cluster reports the node Ready", Until: "ready", run: awaitReady},
		{Name: "schedulable", Does: "wait until no taint keeps pods away", Until: "schedulable", run: awaitSchedulable},
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
			if found = true; step.Needed {
				return usage("--skip %s: the steps after it need its result", name)
			}
		}
		if !found {
			return usage("--skip %s: there is no such step", name)
		}
	}
	return nil
}
