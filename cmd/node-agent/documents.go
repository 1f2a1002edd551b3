package main

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/schema"
)

// DocumentKind is a kind of JSON document that a command prints.
type DocumentKind struct {
	kind, command string
	parts         []any // the structs whose fields it has
}

// documentKinds returns all kinds of documents.
func documentKinds() []DocumentKind {
	return []DocumentKind{
		{"JoinResult", "join", []any{joinDocument{}}},
		{"Plan", "plan", documentWithResult[bootstrap.PlanDocument]{}.parts()},
		{"Preflight", "preflight", documentWithResult[bootstrap.PreflightDocument]{}.parts()},
		{"Status", "status", documentWithResult[bootstrap.StatusDocument]{}.parts()},
		{"DoctorReport", "doctor", []any{doctorDocument{}}},
		{"ApplyResult", "apply", []any{applyDocument{}}},
		{"LeaveResult", "leave", []any{leaveDocument{}}},
		{"JoinTokens", "token create", []any{tokensDocument{}}},
		{"JoinTokenSummary", "token show", []any{tokenDocument{}}},
		{"ApproverEvent", "approve", []any{eventDocument{}}},
		{"NodeIPResult", "node-ip", []any{nodeIPDocument{}}},
		{"UplinkNameResult", "uplink-name", []any{uplinkNameDocument{}}},
		{"Config", "config show", []any{configDocument{}}},
		{"ConfigCheck", "config validate", []any{configDocument{}}},
		{"Failure", "COMMAND", []any{FailureDocument{}}},
		{"Version", "version", []any{VersionDocument{}}},
	}
}

// schemas returns the schemas of all documents and of the configuration file, by file name.
func schemas() map[string]schema.Schema {
	all := map[string]schema.Schema{}
	add := func(kind, title string, parts ...any) schema.Schema {
		s := schema.Of("urn:"+report.APIVersion+":"+kind, title, parts...)
		properties, _ := s["properties"].(map[string]any)
		properties["apiVersion"], properties["kind"] = schema.Schema{"const": report.APIVersion}, schema.Schema{"const": kind}
		all[kind+".json"] = s
		return s
	}
	for _, d := range documentKinds() {
		add(d.kind, fmt.Sprintf("what hcp-node-agent %s --output json prints", d.command), d.parts...)
	}
	file := add(config.Kind, config.DefaultFile+" and its drop-ins", config.Join{})
	file["required"] = []string{"apiVersion", "kind"}
	all[config.Kind+".json"] = schema.Closed(file)
	return all
}

// documentWithResult combines a document with the result of its command.
type documentWithResult[D any] struct {
	document D
	Result
}

func (e documentWithResult[D]) parts() []any { return []any{e.document, e.Result} }

// MarshalJSON encodes the document and the result as one object.
func (e documentWithResult[D]) MarshalJSON() ([]byte, error) {
	var both []byte
	for _, part := range e.parts() {
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
