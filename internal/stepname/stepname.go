// SPDX-License-Identifier: Apache-2.0

// Package stepname names the steps of a join. The names appear in progress, in --skip and
// --until, in the record of the join and in the ledger.
package stepname

// The steps in the order in which a join runs them.
const (
	Preflight          = "preflight"
	Fetch              = "fetch"
	Plan               = "plan"
	Validate           = "validate"
	Stage              = "stage" // only in an upgrade
	Drain              = "drain" // only in an upgrade
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

// UntilValues returns the steps after which --until can end a join, in their order.
func UntilValues() []string { return []string{ClientCertificate, Kubelet, Ready, Schedulable} }

// SkipValues returns the steps that --skip can skip, in their order. Later steps require the
// results of the others.
func SkipValues() []string {
	return []string{
		Preflight, Validate, Packages, Files, System, Network, Runtime, ClientCertificate, Kubelet, ServingCertificate, Ready, Schedulable,
	}
}
