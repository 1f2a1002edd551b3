// SPDX-License-Identifier: Apache-2.0

// Package request reads what a command was requested to do: its settings, user data, Ignition overrides, join token
// and the approver's kubeconfig, and what an earlier join has saved of them. Start reading at Read.
package request
