// Package schema generates JSON Schemas (draft 2020-12) from the Go types that
// encoding/json encodes, so that published schemas match the output.
package schema

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"time"
)

// Schema is a JSON Schema in the form that encoding/json encodes.
type Schema map[string]any

// Of returns the schema of a document: an object with the fields of all parts, which are
// structs. Unknown fields are valid, because later versions can add fields.
func Of(id, title string, parts ...any) Schema {
	object := Schema{"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": id, "title": title, "type": "object"}
	f := fields{properties: map[string]any{}}
	for _, part := range parts {
		f.add(reflect.TypeOf(part))
	}
	f.into(object)
	return object
}

// jsonTyper is implemented by types that json.Marshal encodes like another type.
type jsonTyper interface{ JSONType() reflect.Type }

// fields collects the fields of an object.
type fields struct {
	properties map[string]any
	required   []string
}

func (f *fields) into(object Schema) {
	object["properties"] = f.properties
	if len(f.required) > 0 {
		object["required"] = f.required
	}
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
		case name == "-", !field.IsExported() && !field.Anonymous:
		case field.Anonymous && name == "" && inner.Kind() == reflect.Struct:
			f.add(inner)
		default:
			if name == "" {
				name = field.Name
			}
			optional := strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
			if !optional {
				f.required = append(f.required, name)
			}
			f.properties[name] = schemaOf(field.Type, !optional)
		}
	}
}

// schemaOf returns the schema of a type. If nullable is set, a nil list, map or pointer is
// encoded as null and not omitted.
func schemaOf(of reflect.Type, nullable bool) Schema {
	switch {
	case of.Kind() == reflect.Pointer:
		return allowNull(schemaOf(of.Elem(), false), nullable)
	case of.Implements(reflect.TypeFor[jsonTyper]()):
		shown, _ := reflect.Zero(of).Interface().(jsonTyper)
		return schemaOf(shown.JSONType(), nullable)
	case of == reflect.TypeFor[time.Time]():
		return Schema{"type": "string", "format": "date-time"}
	case of == reflect.TypeFor[json.RawMessage]():
		return Schema{}
	case of.Implements(reflect.TypeFor[json.Marshaler]()), of.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		if of.Kind() == reflect.Map {
			return allowNull(Schema{"type": "object"}, nullable)
		}
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
		object, f := Schema{"type": "object"}, fields{properties: map[string]any{}}
		f.add(of)
		f.into(object)
		return object
	case reflect.Map:
		return allowNull(Schema{"type": "object", "additionalProperties": schemaOf(of.Elem(), true)}, nullable)
	case reflect.Slice, reflect.Array:
		if of.Elem().Kind() == reflect.Uint8 {
			return allowNull(Schema{"type": "string", "contentEncoding": "base64"}, nullable)
		}
		return allowNull(Schema{"type": "array", "items": schemaOf(of.Elem(), true)}, nullable)
	case reflect.Interface:
		return Schema{}
	}
	return Schema{"type": "integer"}
}

func allowNull(s Schema, nullable bool) Schema {
	if nullable {
		s["type"] = []any{s["type"], "null"}
	}
	return s
}

// Closed returns a schema that rejects unknown fields at all levels: for files that users
// write, and for tests that detect incomplete schemas.
func Closed(s Schema) Schema {
	closed := Schema{}
	for key, value := range s {
		closed[key] = closedValue(value)
	}
	if _, isObject := s["properties"]; isObject {
		closed["additionalProperties"] = false
	}
	return closed
}

func closedValue(value any) any {
	switch v := value.(type) {
	case Schema:
		return Closed(v)
	case map[string]any:
		closed := map[string]any{}
		for key, one := range v {
			closed[key] = closedValue(one)
		}
		return closed
	}
	return value
}
