// SPDX-License-Identifier: Apache-2.0

// Package inputs reads what a command is given: user data, Ignition overrides, join token,
// the approver's kubeconfig, and the saved inputs of an earlier join. Start reading at Read.
package inputs
