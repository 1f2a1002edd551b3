// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/schema"
)

// DocumentKind is a kind of JSON document that a command prints.
type DocumentKind struct {
	Kind     string
	Title    string // title of the schema
	Document any    // the zero value of the struct
}

// FailureDocument is printed if a command fails without another document.
type FailureDocument struct {
	report.TypeMeta
	report.CommandResult
}

// NewDocumentKind returns the kind of document that a command of a program prints.
func NewDocumentKind(program, kind, command string, document any) DocumentKind {
	return DocumentKind{Kind: kind, Title: "output of " + program + " " + command + " --output json", Document: document}
}

// CommonDocuments returns the kinds of documents that all programs print.
func CommonDocuments() []DocumentKind {
	return []DocumentKind{
		{
			Kind:     "Failure",
			Title:    "output of every command with --output json that fails without a result",
			Document: FailureDocument{},
		},
		{Kind: "Version", Title: "output of version --output json", Document: VersionDocument{}},
	}
}

// Schema returns the schema of the document.
func (d DocumentKind) Schema() schema.Schema {
	s := schema.Of("https://"+report.APIVersion+"/"+d.Kind+".json", d.Title, d.Document)
	properties, _ := s["properties"].(map[string]schema.Schema)
	properties["apiVersion"]["const"], properties["kind"]["const"] = report.APIVersion, d.Kind
	return s
}

// Schemas returns the schemas of documents by file name.
func Schemas(kinds []DocumentKind) map[string]schema.Schema {
	all := map[string]schema.Schema{}
	for _, d := range kinds {
		all[d.Kind+".json"] = d.Schema()
	}
	return all
}
