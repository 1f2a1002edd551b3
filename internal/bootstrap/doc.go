// SPDX-License-Identifier: Apache-2.0

// Package bootstrap joins this host to a cluster as a worker node: Join runs the steps of
// Steps, each in the file step_<name>.go, and records its progress so that an interrupted
// join resumes. Package plan determines what the steps do.
package bootstrap
