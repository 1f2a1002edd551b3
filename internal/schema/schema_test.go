// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/schema"
)

type color string

func (color) Enum() []string { return schema.Strings[color]("red", "blue") }

type inner struct {
	Names []string       `json:"names" doc:"names"`
	Any   map[string]any `json:"any"`
}

type outer struct {
	Color  color            `json:"color" doc:"color of the thing"`
	Inner  *inner           `json:"inner,omitempty"`
	Map    map[string]inner `json:"map"`
	Time   time.Time        `json:"time,omitzero"`
	Value  any              `json:"value,omitempty"`
	Hidden []string         `json:"-"`
	Own    string           `json:"own,omitempty" doc:"-"` // not published
}

func encode(t *testing.T, value any) string {
	t.Helper()
	content, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestOf(t *testing.T) {
	const innerSchema = `{"properties":{"any":{"additionalProperties":{"type":["array","boolean","number","object",` +
		`"string"]},"type":"object"},"names":{"description":"names","items":{"type":"string"},"type":"array"}},` +
		`"required":["names","any"],"type":"object"}`
	const want = `{"$id":"https://example.com/a.json","$schema":"https://json-schema.org/draft/2020-12/schema",` +
		`"properties":{"color":{"description":"color of the thing","enum":["red","blue"],"type":"string"},` +
		`"inner":` + innerSchema +
		`,"map":{"additionalProperties":` + innerSchema + `,"type":"object"},"time":{"format":"date-time","type":"string"},` +
		`"value":{"type":["array","boolean","number","object","string"]}},"required":["color","map"],` +
		`"title":"a","type":"object"}`
	if diff := cmp.Diff(want, encode(t, schema.Of("https://example.com/a.json", "a", outer{}))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWithoutNull(t *testing.T) {
	document := outer{Inner: &inner{}, Map: map[string]inner{"a": {}}, Value: []inner{{}}}
	const want = `{"color":"","inner":{"names":[],"any":{}},"map":{"a":{"names":[],"any":{}}},` +
		`"value":[{"names":[],"any":{}}]}`
	if diff := cmp.Diff(want, encode(t, schema.WithoutNull(document))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if document.Inner.Names != nil || document.Map["a"].Names != nil {
		t.Errorf("the document was modified: %+v", document)
	}
	if diff := cmp.Diff(`{"color":"","map":{}}`, encode(t, schema.WithoutNull(outer{}))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
