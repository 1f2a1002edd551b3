// SPDX-License-Identifier: Apache-2.0

// Package software decides which software a RHEL worker of an OpenShift release requires, and where it
// comes from. Gather collects Facts, and Decide returns one outcome for each required package. The table
// of packages is data (table.yaml). Package osimage reads the OS image of a payload and unpacks packages
// from it. Package internal/host/dnf queries and installs packages.
//
// A third source fits beside the repositories and the OS image: replacing the image of the host itself
// (bootc switch, rpm-ostree rebase). It needs a source (sources.go), an Outcome for the packages that the
// image would provide, and an executor in the step packages. Neither the decision for one package nor the
// other sources depend on how a source delivers.
package software
