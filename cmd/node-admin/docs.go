// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
)

// docs returns the parts of the documentation that are not generated from the commands.
func docs() cli.Docs {
	return cli.Docs{
		ManSections: []cli.Section{
			cli.ExitCodes(),
			{Title: "Environment", Columns: []string{"variable", "meaning"}, Rows: cli.OutputVariables()},
		},
		Schemas: cli.Schemas(documentKinds()),
	}
}

// documentKinds returns all kinds of documents.
func documentKinds() []cli.DocumentKind {
	return append(cli.CommonDocuments(),
		cli.NewDocumentKind(programName, "JoinTokens", "token create", tokensDocument{}),
		cli.NewDocumentKind(programName, "JoinTokenSummary", "token show", tokenDocument{}),
		cli.NewDocumentKind(programName, "ApproverEvent", "approve", eventDocument{}),
	)
}
