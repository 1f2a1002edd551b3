// SPDX-License-Identifier: Apache-2.0

package networkmanager

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/godbus/dbus/v5"
)

// Settings is a profile in NetworkManager's D-Bus form: sections with the
// properties that differ from their defaults. It never contains secrets. In
// JSON a value is "SIGNATURE GVARIANT-TEXT", so that types are preserved.
type Settings map[string]map[string]dbus.Variant

// Clone returns a copy of the settings. The values are shared, because they are
// never changed in place.
func (s Settings) Clone() Settings {
	clone := Settings{}
	for name, section := range s {
		clone[name] = maps.Clone(section)
	}
	return clone
}

// Text returns a string property, or "".
func (s Settings) Text(section, name string) string { return value[string](s[section], name) }

// Int32 returns an int32 property, or 0.
func (s Settings) Int32(section, name string) int32 { return value[int32](s[section], name) }

// Int64 returns an int64 property, or 0.
func (s Settings) Int64(section, name string) int64 { return value[int64](s[section], name) }

// List returns the elements of a property of maps: address-data, route-data,
// routing-rules.
func (s Settings) List(section, name string) []map[string]dbus.Variant {
	return value[[]map[string]dbus.Variant](s[section], name)
}

// RewriteMaps replaces each value in a property of maps by the result of change.
func (s Settings) RewriteMaps(section, name string, change func(key string, v any) any) {
	var changed []map[string]dbus.Variant
	for _, old := range s.List(section, name) {
		m := map[string]dbus.Variant{}
		for key, v := range old {
			m[key] = dbus.MakeVariant(change(key, v.Value()))
		}
		changed = append(changed, m)
	}
	if len(changed) > 0 {
		s.Set(section, name, changed)
	}
}

// Set sets a property, and creates the section if it is missing.
func (s Settings) Set(section, name string, v any) {
	if s[section] == nil {
		s[section] = map[string]dbus.Variant{}
	}
	s[section][name] = dbus.MakeVariant(v)
}

// Drop removes properties of a section.
func (s Settings) Drop(section string, names ...string) {
	for _, name := range names {
		delete(s[section], name)
	}
}

// Keep removes all properties of a section except the named ones.
func (s Settings) Keep(section string, names ...string) {
	maps.DeleteFunc(s[section], func(name string, _ dbus.Variant) bool { return !slices.Contains(names, name) })
}

// withoutLegacy removes the old binary form of addresses, routes and name
// servers, which NetworkManager returns beside the new one. If both are sent,
// the old form wins (_nm_setting_use_legacy_property in nm-setting.c). It would
// override changes of the new form, and the names and URIs of servers that use
// TLS, which only dns-data can contain. Versions before 1.42 have only dns.
// withoutLegacy also removes the timestamp of the last use, which is not a
// setting.
func (s Settings) withoutLegacy() Settings {
	for _, family := range Families() {
		section := family.Section()
		for legacy, data := range map[string]string{"addresses": "address-data", "routes": "route-data", "dns": "dns-data"} {
			if _, ok := s[section][data]; ok {
				s.Drop(section, legacy)
			}
		}
	}
	s.Drop("connection", "timestamp")
	return s
}

// JSONType returns the type that MarshalJSON encodes, for schemas.
func (Settings) JSONType() reflect.Type { return reflect.TypeFor[map[string]map[string]string]() }

// MarshalJSON fails for a value that could not be decoded to the same value.
func (s Settings) MarshalJSON() ([]byte, error) {
	texts, err := convert(s, encodeVariant)
	if err != nil {
		return nil, fmt.Errorf("encoding %w", err)
	}
	return json.Marshal(texts)
}

// UnmarshalJSON parses what MarshalJSON returned.
func (s *Settings) UnmarshalJSON(content []byte) error {
	var texts map[string]map[string]string
	err := json.Unmarshal(content, &texts)
	if err != nil {
		return err
	}
	if *s, err = convert(texts, decodeVariant); err != nil {
		return fmt.Errorf("decoding %w", err)
	}
	return nil
}

// convert converts the properties of all sections. Its error begins with the name of the property.
func convert[From, To any](
	sections map[string]map[string]From, one func(From) (To, error),
) (map[string]map[string]To, error) {
	converted := map[string]map[string]To{}
	for name, section := range sections {
		converted[name] = map[string]To{}
		for property, from := range section {
			to, err := one(from)
			if err != nil {
				return nil, fmt.Errorf("%s.%s: %w", name, property, err)
			}
			converted[name][property] = to
		}
	}
	return converted, nil
}
