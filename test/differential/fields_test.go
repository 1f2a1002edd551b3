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

// leftOut is what the agent does not do, by the start of the field's name.
// What it refuses is in badConfigs; kernel arguments are reported.
var leftOut = []string{"storage.disks", "storage.filesystems", "storage.luks", "storage.raid", "kernelArguments"}

// TestEveryField: a field of the newest spec that no scenario sets would be
// applied without ever having been compared.
func TestEveryField(t *testing.T) {
	used := map[string]bool{}
	configs := []string{merged}
	for _, group := range [][]scenario{newFiles(), filesThere(), directories(), links(), throughLinks(), unitScenarios(), references(), accounts()} {
		for _, s := range group {
			if s.fails == "" && s.refused == "" {
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
		refused := slices.ContainsFunc(leftOut, func(prefix string) bool { return strings.HasPrefix(field, prefix) })
		if !refused && !used[field] {
			t.Errorf("no scenario sets %s", field)
		}
		if refused && used[field] {
			t.Errorf("%s is set by a scenario that is applied, but is said to be left out", field)
		}
	}
}

// fieldName joins the names of JSON; what is embedded has none of its own.
func fieldName(field reflect.StructField, prefix string) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	if field.Anonymous {
		return prefix
	}
	return strings.TrimPrefix(prefix+"."+name, ".")
}

// allFields lists what a type can hold: its leaves.
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

// setFields notes the leaves that a value holds.
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
