// SPDX-License-Identifier: Apache-2.0

//go:build differential

package differential

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/coreos/ignition/v2/config/v3_6/types"
)

// unsupportedFields are prefixes of the fields that the agent does not support. badConfigs has those that
// it refuses; kernel arguments are only reported.
var unsupportedFields = []string{
	"storage.disks", "storage.filesystems", "storage.luks", "storage.raid", "kernelArguments",
}

// TestScenariosCoverEveryField checks that the scenarios set every field of the newest spec. Other fields would
// never be compared.
func TestScenariosCoverEveryField(t *testing.T) {
	used := map[string]bool{}
	configs := []string{mergedConfig}
	for _, group := range [][]scenario{
		newFiles(), existingFiles(), directories(), links(), throughLinks(), unitScenarios(), references(), accounts(),
	} {
		for _, s := range group {
			if s.bothFail == "" && s.agentFails == "" {
				configs = append(configs, s.config)
			}
		}
	}
	for _, text := range configs {
		var config types.Config
		if err := json.Unmarshal([]byte(text), &config); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		setFields(reflect.ValueOf(config), "", used)
	}
	for _, field := range allFields(reflect.TypeFor[types.Config](), "") {
		refused := slices.ContainsFunc(unsupportedFields,
			func(prefix string) bool { return strings.HasPrefix(field, prefix) })
		if !refused && !used[field] {
			t.Errorf("no scenario sets %s", field)
		}
		if refused && used[field] {
			t.Errorf("%s is set by a scenario that is applied, but is listed as unsupported", field)
		}
	}
}

// fieldName appends the JSON name of a field to prefix. Embedded fields have no name.
func fieldName(field reflect.StructField, prefix string) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	if field.Anonymous {
		return prefix
	}
	return strings.TrimPrefix(prefix+"."+name, ".")
}

// allFields returns the names of the leaf fields of a type.
func allFields(kind reflect.Type, name string) []string {
	switch kind.Kind() {
	case reflect.Pointer, reflect.Slice:
		return allFields(kind.Elem(), name)
	case reflect.Struct:
		var all []string
		for i := range kind.NumField() {
			all = append(all, allFields(kind.Field(i).Type, fieldName(kind.Field(i), name))...)
		}
		return all
	default:
		return []string{name}
	}
}

// setFields adds the names of the leaf fields that are set in value to used.
func setFields(value reflect.Value, name string, used map[string]bool) {
	switch value.Kind() {
	case reflect.Pointer:
		if !value.IsNil() {
			setFields(value.Elem(), name, used)
		}
	case reflect.Slice:
		for i := range value.Len() {
			setFields(value.Index(i), name, used)
		}
	case reflect.Struct:
		for i := range value.NumField() {
			setFields(value.Field(i), fieldName(value.Type().Field(i), name), used)
		}
	default:
		used[name] = true
	}
}
