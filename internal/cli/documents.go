package cli

import (
	"bytes"
	"encoding/json"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/schema"
)

// DocumentKind is a kind of JSON document that a command prints.
type DocumentKind struct {
	Kind  string
	Title string // title of the schema
	Parts []any  // the structs whose fields it has
}

// NewDocumentKind returns the kind of document that a command of a program prints.
func NewDocumentKind(program, kind, command string, parts ...any) DocumentKind {
	return DocumentKind{Kind: kind, Title: "what " + program + " " + command + " --output json prints", Parts: parts}
}

// CommonDocuments returns the kinds of documents that all programs print.
func CommonDocuments() []DocumentKind {
	return []DocumentKind{
		{Kind: "Failure", Title: "what every command prints with --output json if it fails", Parts: []any{FailureDocument{}}},
		{Kind: "Version", Title: "what version --output json prints", Parts: []any{VersionDocument{}}},
	}
}

// Schema returns the schema of the document.
func (d DocumentKind) Schema() schema.Schema {
	s := schema.Of("urn:"+report.APIVersion+":"+d.Kind, d.Title, d.Parts...)
	properties, _ := s["properties"].(map[string]any)
	properties["apiVersion"] = schema.Schema{"const": report.APIVersion}
	properties["kind"] = schema.Schema{"const": d.Kind}
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

// DocumentWithResult combines a document with the result of its command.
type DocumentWithResult[D any] struct {
	Document D
	Result
}

// Parts returns the structs whose fields the object has.
func (d DocumentWithResult[D]) Parts() []any { return []any{d.Document, d.Result} }

// MarshalJSON encodes the document and the result as one object.
func (d DocumentWithResult[D]) MarshalJSON() ([]byte, error) {
	var both []byte
	for _, part := range d.Parts() {
		var out bytes.Buffer
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(part); err != nil {
			return nil, err
		}
		object := bytes.TrimSpace(out.Bytes())
		if both == nil {
			both = object
			continue
		}
		both = append(append(both[:len(both)-1], ','), object[1:]...)
	}
	return both, nil
}
