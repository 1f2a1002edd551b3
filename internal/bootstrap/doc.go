// SPDX-License-Identifier: Apache-2.0

// Package bootstrap joins this host to a cluster as a worker node: Join runs the steps of
// Steps, each in the file step_<name>.go, and records its progress so that an interrupted
// join resumes. Flow contains what the steps pass to each other. Package plan determines what the steps
// do, and package provision brings the software to the host.
package bootstrap
