package config

import (
	"reflect"
	"strings"
)

// fieldsOf are the settings of a type by their names in the file.
func fieldsOf(of reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for i := range of.NumField() {
		field := of.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		fields[name] = field.Type
	}
	return fields
}

// known are the names of all settings.
func known(of reflect.Type, prefix string) []string {
	var names []string
	for name, kind := range fieldsOf(of) {
		names = append(names, prefix+name)
		if kind.Kind() == reflect.Struct {
			names = append(names, known(kind, prefix+name+".")...)
		}
	}
	return names
}

func typeInWords(wanted reflect.Type) string {
	switch {
	case wanted == reflect.TypeFor[Duration]():
		return "a duration like 90s or 1h30m"
	case wanted.Kind() == reflect.Slice:
		return "a list of texts"
	case wanted.Kind() == reflect.Bool:
		return "true or false"
	case wanted.Kind() == reflect.Struct:
		return "a mapping"
	}
	return "a text"
}
