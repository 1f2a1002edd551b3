// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/doctor"
	"github.com/hcp-node-agent/hcp-node-agent/internal/image"
	"github.com/hcp-node-agent/hcp-node-agent/internal/leave"
	"github.com/hcp-node-agent/hcp-node-agent/internal/preview"
	"github.com/hcp-node-agent/hcp-node-agent/internal/schema"
	"github.com/hcp-node-agent/hcp-node-agent/internal/service"
	"github.com/hcp-node-agent/hcp-node-agent/internal/status"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// documentKinds returns all kinds of documents.
func documentKinds() []cli.DocumentKind {
	return append(cli.CommonDocuments(),
		cli.NewDocumentKind(programName, "JoinResult", "join", stepsDocument{}),
		cli.NewDocumentKind(programName, "UpgradeResult", "upgrade", stepsDocument{}),
		cli.NewDocumentKind(programName, "MaintenanceResult", "maintenance", stepsDocument{}),
		cli.NewDocumentKind(programName, "Plan", "plan", preview.Document{}),
		cli.NewDocumentKind(programName, preview.FactsKind, "plan --print-facts", preview.HostFacts{}),
		cli.NewDocumentKind(programName, "Preflight", "preflight", preview.PreflightDocument{}),
		cli.NewDocumentKind(programName, "Status", "status", status.Document{}),
		cli.NewDocumentKind(programName, "DoctorReport", "doctor", doctor.Report{}),
		cli.NewDocumentKind(programName, "ApplyResult", "apply", image.Document{}),
		cli.NewDocumentKind(programName, "LeaveResult", "leave", leave.Document{}),
		cli.NewDocumentKind(programName, "LeavePreview", "leave --dry-run", leave.PreviewDocument{}),
		cli.NewDocumentKind(programName, "NodeIPResult", "node-ip", service.NodeIPResult{}),
		cli.NewDocumentKind(programName, "UplinkNameResult", "uplink-name", service.UplinkNameResult{}),
		cli.NewDocumentKind(programName, "Config", "config show", configDocument{}),
		cli.NewDocumentKind(programName, "ConfigCheck", "config validate", configDocument{}),
	)
}

// schemas returns the schemas of all documents and of the configuration file, by file name.
func schemas() map[string]schema.Schema {
	all := cli.Schemas(documentKinds())
	file := cli.DocumentKind{
		Kind:     config.Kind,
		Title:    config.DefaultFile + " and its drop-ins",
		Document: config.Join{},
	}.Schema()
	properties, _ := file["properties"].(map[string]schema.Schema)
	properties["until"]["enum"] = steps.UntilValues()
	file["required"] = []string{"apiVersion", "kind"}
	all[config.Kind+".json"] = schema.Closed(file)
	return all
}
