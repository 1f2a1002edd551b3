// SPDX-License-Identifier: Apache-2.0

// Package hcpnodeagent contains the manifests of the controller.
package hcpnodeagent

import "embed"

// Deploy contains the manifests of the directory deploy that hcp-node-admin applies.
//
//go:embed deploy/hosted deploy/hosted-base deploy/hosted-publish deploy/hosted-remediation deploy/hosted-renewals
//go:embed deploy/hosted-token
//go:embed deploy/management deploy/management-publish deploy/monitoring/controller
var Deploy embed.FS
