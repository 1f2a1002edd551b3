// SPDX-License-Identifier: Apache-2.0

// Package schema generates JSON Schemas (draft 2020-12) from the Go types that
// encoding/json encodes, so that published schemas match the output.
package schema

import (
	"encoding"
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
)

// Schema is a JSON Schema in the form that encoding/json encodes.
type Schema map[string]any

// Enum is implemented by string types with a closed set of values.
type Enum interface {
	// Enum returns all values.
	Enum() []string
}

// Strings returns the values of a string type as strings.
func Strings[T ~string](values ...T) []string {
	return lists.Map(values, func(value T) string { return string(value) })
}

// Of returns the schema of a document, which is a struct. Unknown fields are valid, because later
// versions can add fields. The struct tag doc has the description of a field. No value can be null: see WithoutNull.
func Of(id, title string, document any) Schema {
	object := objectOf(reflect.TypeOf(document))
	object["$schema"], object["$id"], object["title"] = "https://json-schema.org/draft/2020-12/schema", id, title
	return object
}

// jsonTyper is implemented by types that json.Marshal encodes like another type.
type jsonTyper interface{ JSONType() reflect.Type }

// objectOf returns the schema of a struct.
func objectOf(of reflect.Type) Schema {
	f := fields{properties: map[string]Schema{}}
	f.add(of)
	object := Schema{"type": "object", "properties": f.properties}
	if len(f.required) > 0 {
		object["required"] = f.required
	}
	return object
}

// fields collects the fields of an object.
type fields struct {
	properties map[string]Schema
	required   []string
}

func (f *fields) add(of reflect.Type) {
	for i := range of.NumField() {
		field := of.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		inner := field.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case name == "-", field.Tag.Get("doc") == "-", !field.IsExported() && !field.Anonymous:
		case field.Anonymous && name == "" && inner.Kind() == reflect.Struct:
			f.add(inner)
		default:
			if name == "" {
				name = field.Name
			}
			if !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") {
				f.required = append(f.required, name)
			}
			property := schemaOf(inner)
			if description := field.Tag.Get("doc"); description != "" {
				property["description"] = description
			}
			f.properties[name] = property
		}
	}
}

// schemaOf returns the schema of a type.
func schemaOf(of reflect.Type) Schema {
	switch {
	case of.Kind() == reflect.Pointer:
		return schemaOf(of.Elem())
	case of.Implements(reflect.TypeFor[jsonTyper]()):
		shown, _ := reflect.Zero(of).Interface().(jsonTyper)
		return schemaOf(shown.JSONType())
	case of.Implements(reflect.TypeFor[Enum]()):
		values, _ := reflect.Zero(of).Interface().(Enum)
		return Schema{"type": "string", "enum": values.Enum()}
	case isAPIObject(of):
		return Schema{"type": "object", "required": []string{"metadata"}}
	case of == reflect.TypeFor[time.Time]():
		return Schema{"type": "string", "format": "date-time"}
	case of.Implements(reflect.TypeFor[json.Marshaler]()), of.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return Schema{"type": "string"} // all other types are encoded as text
	}
	switch of.Kind() {
	case reflect.Bool:
		return Schema{"type": "boolean"}
	case reflect.String:
		return Schema{"type": "string"}
	case reflect.Float32, reflect.Float64:
		return Schema{"type": "number"}
	case reflect.Struct:
		return objectOf(of)
	case reflect.Map:
		return Schema{"type": "object", "additionalProperties": schemaOf(of.Elem())}
	case reflect.Slice, reflect.Array:
		if of.Elem().Kind() == reflect.Uint8 {
			return Schema{"type": "string", "contentEncoding": "base64"}
		}
		return Schema{"type": "array", "items": schemaOf(of.Elem())}
	case reflect.Interface:
		return Schema{"type": []string{"array", "boolean", "number", "object", "string"}}
	}
	return Schema{"type": "integer"}
}

// isAPIObject reports whether a type is a kind of the Kubernetes API, whose schema the API server publishes.
func isAPIObject(of reflect.Type) bool {
	if of.Kind() != reflect.Struct {
		return false
	}
	meta, hasMeta := of.FieldByName("ObjectMeta")
	return hasMeta && meta.Type.PkgPath() == "k8s.io/apimachinery/pkg/apis/meta/v1"
}

// Closed returns a schema that rejects unknown fields at all levels: for files that users
// write, and for tests that detect incomplete schemas.
func Closed(s Schema) Schema {
	closed := maps.Clone(s)
	for key, value := range s {
		switch v := value.(type) {
		case Schema:
			closed[key] = Closed(v)
		case map[string]Schema:
			properties := map[string]Schema{}
			for name, property := range v {
				properties[name] = Closed(property)
			}
			closed[key], closed["additionalProperties"] = properties, false
		}
	}
	return closed
}
