// Package schema makes JSON Schemas (draft 2020-12) of the Go types that
// encoding/json writes, so that what is published is what is written.
package schema

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"time"
)

// Schema is one, as encoding/json writes it.
type Schema map[string]any

// Of is the schema of a document: an object with the fields of all these
// structs. Later programs may add fields; one that is not known is no error.
func Of(id, title string, parts ...any) Schema {
	object := Schema{"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": id, "title": title, "type": "object"}
	f := fields{properties: map[string]any{}}
	for _, part := range parts {
		f.add(reflect.TypeOf(part))
	}
	f.into(object)
	return object
}

// encodedAs is a type that json.Marshal encodes like another type.
type encodedAs interface{ JSONType() reflect.Type }

// fields are those of an object.
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
			f.properties[name] = valueOf(field.Type, !optional)
		}
	}
}

// valueOf is the schema of a value. A nil list, map or pointer is null, but where it
// is left out then.
func valueOf(of reflect.Type, nullable bool) Schema {
	switch {
	case of.Kind() == reflect.Pointer:
		return orNull(valueOf(of.Elem(), false), nullable)
	case of.Implements(reflect.TypeFor[encodedAs]()):
		shown, _ := reflect.Zero(of).Interface().(encodedAs)
		return valueOf(shown.JSONType(), nullable)
	case of == reflect.TypeFor[time.Time]():
		return Schema{"type": "string", "format": "date-time"}
	case of.Implements(reflect.TypeFor[json.Marshaler]()), of.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		if of.Kind() == reflect.Map {
			return orNull(Schema{"type": "object"}, nullable)
		}
		return Schema{"type": "string"} // all others that there are write a text
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
		return orNull(Schema{"type": "object", "additionalProperties": valueOf(of.Elem(), true)}, nullable)
	case reflect.Slice, reflect.Array:
		if of.Elem().Kind() == reflect.Uint8 {
			return orNull(Schema{"type": "string", "contentEncoding": "base64"}, nullable)
		}
		return orNull(Schema{"type": "array", "items": valueOf(of.Elem(), true)}, nullable)
	case reflect.Interface:
		return Schema{}
	}
	return Schema{"type": "integer"}
}

func orNull(s Schema, nullable bool) Schema {
	if nullable {
		s["type"] = []any{s["type"], "null"}
	}
	return s
}

// Closed refuses fields that are not known, everywhere: for files that people
// write, and for tests that look for what a schema lacks.
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
