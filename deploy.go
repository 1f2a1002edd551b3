// SPDX-License-Identifier: Apache-2.0

// Package hcpnodeagent contains the manifests of the controller.
package hcpnodeagent

import "embed"

// Deploy contains the manifests of the directory deploy that hcp-node-admin applies.
//
//go:embed deploy/hosted deploy/hosted-base deploy/hosted-lost deploy/hosted-publish deploy/hosted-remediation
//go:embed deploy/hosted-renewals deploy/hosted-token
//go:embed deploy/management deploy/management-publish deploy/monitoring/controller
var Deploy embed.FS
