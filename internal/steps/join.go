// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// The names of the steps of a join and of an upgrade, in their order. The names appear in progress, in
// --skip and --until, in the record of the join and in the ledger.
const (
	Preflight          = "preflight"
	Fetch              = "fetch"
	Plan               = "plan"
	Validate           = "validate"
	Stage              = "stage"
	Drain              = "drain"
	Packages           = "packages"
	Files              = "files"
	System             = "system"
	Network            = "network"
	Runtime            = "runtime"
	ClientCertificate  = "client-certificate"
	Kubelet            = "kubelet"
	ServingCertificate = "serving-certificate"
	Ready              = "ready"
	Schedulable        = "schedulable"
)

// JoinStep describes a step of a join or of an upgrade. Help, --only, --skip, --until, progress, retries,
// repairs and documents are derived from it.
type JoinStep struct {
	Name        string
	Description string // for help texts and documents
	OnlyUpgrade bool   // a join does not have the step
	CanSkip     bool   // with --skip: no later step requires its results
	IsUntil     bool   // --until can end a join after the step
	// IsIndependent: the step does not use the results of earlier ones, and can be run with --only.
	IsIndependent bool
	// OwnsPayload: the step makes the changes of the payload. An upgrade reverts those that the next payload
	// does not contain.
	OwnsPayload bool
	// Restores: the step changes the host and needs neither the ignition server nor an approval, so that a
	// repair runs it, or it provides what such a step requires.
	Restores bool
	// IsRetryable reports whether the service retries a join or an upgrade that failed in the step with the
	// code: the step has left the host as it was, and the failure ends with time or by a remote change. Nil:
	// it does not.
	IsRetryable func(report.Code) bool
}

// JoinSteps returns the steps of a join and of an upgrade in their order. Until validate has passed, they do
// not change the host, except that preflight rolls back an unfinished migration of the uplink.
func JoinSteps() []JoinStep {
	return []JoinStep{
		{
			Name: Preflight, Description: "check the host and the ignition endpoint",
			CanSkip: true, IsRetryable: anyFailure,
		},
		{Name: Fetch, Description: "download the Ignition payload", Restores: true, IsRetryable: anyFailure},
		{
			Name: Plan, Description: "adapt the payload to this host",
			Restores: true, IsRetryable: only(report.Refused), // the network may have changed since preflight
		},
		{
			Name: Validate, Description: "run the checks that need the payload and the API server",
			CanSkip: true, IsRetryable: anyFailure,
		},
		{Name: Stage, Description: "download and unpack the software while pods run", OnlyUpgrade: true},
		{Name: Drain, Description: "drain the node if a change requires it", OnlyUpgrade: true},
		{
			Name: Packages, Description: "ensure that the node's packages are installed",
			CanSkip: true, IsRetryable: anyFailure,
		},
		{
			Name: Files, Description: "write files, directories, links and unit files",
			CanSkip: true, OwnsPayload: true, Restores: true,
		},
		{
			Name: System, Description: "apply sysctls, kernel modules, CA trust; enable units",
			CanSkip: true, OwnsPayload: true, Restores: true,
		},
		{
			Name: Network, Description: "attach the uplink to br-ex", CanSkip: true, IsIndependent: true,
			Restores: true, IsRetryable: only(report.Refused, report.NetworkRolledBack),
		},
		{Name: Runtime, Description: "configure CRI-O's pause image and start CRI-O", CanSkip: true, Restores: true},
		{
			Name: ClientCertificate, Description: "obtain the node's client certificate",
			CanSkip: true, IsUntil: true,
		},
		{Name: Kubelet, Description: "enable and start kubelet", CanSkip: true, IsUntil: true, Restores: true},
		{Name: ServingCertificate, Description: "obtain kubelet's serving certificate", CanSkip: true},
		{Name: Ready, Description: "wait until the Node is Ready", CanSkip: true, IsUntil: true},
		{Name: Schedulable, Description: "wait until the Node is schedulable", CanSkip: true, IsUntil: true},
	}
}

func anyFailure(report.Code) bool { return true }

func only(codes ...report.Code) func(report.Code) bool {
	return func(code report.Code) bool { return slices.Contains(codes, code) }
}

// FindJoinStep returns the step of a name, the zero JoinStep if there is none.
func FindJoinStep(name string) JoinStep {
	return lists.Find(JoinSteps(), func(step JoinStep) bool { return step.Name == name })
}

// Names returns the names of the steps that a function selects, in their order.
func Names(selects func(JoinStep) bool) []string {
	var names []string
	for _, step := range JoinSteps() {
		if selects(step) {
			names = append(names, step.Name)
		}
	}
	return names
}

// UntilValues returns the steps after which --until can end a join.
func UntilValues() []string { return Names(func(s JoinStep) bool { return s.IsUntil }) }

// SkipValues returns the steps that --skip can skip.
func SkipValues() []string { return Names(func(s JoinStep) bool { return s.CanSkip }) }

// IndependentSteps returns the steps that --only can run.
func IndependentSteps() []string { return Names(func(s JoinStep) bool { return s.IsIndependent }) }
