package main

import (
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/schema"
	"github.com/hcp-node-agent/hcp-node-agent/internal/status"
)

// documentKinds returns all kinds of documents.
func documentKinds() []cli.DocumentKind {
	return append(cli.CommonDocuments(),
		cli.NewDocumentKind(programName, "JoinResult", "join", joinDocument{}),
		cli.NewDocumentKind(programName, "Plan", "plan", cli.DocumentWithResult[plan.Document]{}.Parts()...),
		cli.NewDocumentKind(programName, "Preflight", "preflight", cli.DocumentWithResult[plan.PreflightDocument]{}.Parts()...),
		cli.NewDocumentKind(programName, "Status", "status", cli.DocumentWithResult[status.Document]{}.Parts()...),
		cli.NewDocumentKind(programName, "DoctorReport", "doctor", doctorDocument{}),
		cli.NewDocumentKind(programName, "ApplyResult", "apply", applyDocument{}),
		cli.NewDocumentKind(programName, "LeaveResult", "leave", leaveDocument{}),
		cli.NewDocumentKind(programName, "NodeIPResult", "node-ip", nodeIPDocument{}),
		cli.NewDocumentKind(programName, "UplinkNameResult", "uplink-name", uplinkNameDocument{}),
		cli.NewDocumentKind(programName, "Config", "config show", configDocument{}),
		cli.NewDocumentKind(programName, "ConfigCheck", "config validate", configDocument{}),
	)
}

// schemas returns the schemas of all documents and of the configuration file, by file name.
func schemas() map[string]schema.Schema {
	all := cli.Schemas(documentKinds())
	file := cli.DocumentKind{
		Kind:  config.Kind,
		Title: config.DefaultFile + " and its drop-ins",
		Parts: []any{config.Join{}},
	}.Schema()
	file["required"] = []string{"apiVersion", "kind"}
	all[config.Kind+".json"] = schema.Closed(file)
	return all
}
