// SPDX-License-Identifier: Apache-2.0

package networkmanager

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/godbus/dbus/v5"
	"github.com/google/go-cmp/cmp"
)

// containers are empty values of the types of NetworkManager's settings, by signature.
var containers = map[string]any{
	"as": []string{}, "ay": []byte{}, "au": []uint32{}, "aay": [][]byte{}, "aau": [][]uint32{},
	"a{ss}": map[string]string{}, "a{sv}": map[string]dbus.Variant{}, "aa{sv}": []map[string]dbus.Variant{},
	"ab": []bool{}, "ai": []int32{}, "ax": []int64{}, "aas": [][]string{}, "av": []dbus.Variant{}, // in nested maps
}

// Every value of every type that NetworkManager's settings have must be restored, in every depth.
func TestSettingsJSONRestoresGeneratedValues(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // repeatable
	for _, signature := range []string{
		"b", "y", "n", "q", "i", "u", "x", "t", "d", "s", "v", "as", "ay", "au", "aay", "aau", "a{ss}", "a{sv}", "aa{sv}",
		"ab", "ai", "ax", "aas", "av",
	} {
		for range 1000 {
			before := dbus.MakeVariant(generate(random, signature, 0))
			if after, err := restored(before); err != nil || !cmp.Equal(before, after, cmp.Comparer(isSame)) {
				t.Errorf("%s: %s was restored as %s: %v", signature, before, after, err)
				break
			}
		}
	}
}

func TestSettingsJSONRestoresEveryByte(t *testing.T) {
	for value := range 256 {
		before := dbus.MakeVariant(bytes.Repeat([]byte{byte(value)}, 6))
		if after, err := restored(before); err != nil || !isSame(before, after) {
			t.Errorf("%s was restored as %s: %v", before, after, err)
		}
	}
}

// The text contains bytes in hexadecimal form, and a decimal exponent in no number but a double.
func TestSettingsJSONIsText(t *testing.T) {
	for text, value := range map[string]any{
		"ay [0xfa, 0x16, 0x3e, 0x0, 0xe, 0xee]": []byte{0xfa, 0x16, 0x3e, 0, 0xe, 0xee},
		`a{sv} {"0xfe": <"0x3e">}`:              map[string]dbus.Variant{"0xfe": dbus.MakeVariant("0x3e")},
		"d 1e+21":                               1e21,
	} {
		if got, err := encodeVariant(dbus.MakeVariant(value)); err != nil || got != text {
			t.Errorf("%v was encoded as %q: %v", value, got, err)
		}
	}
}

func restored(before dbus.Variant) (dbus.Variant, error) {
	content, err := json.Marshal(Settings{"section": {"property": before}})
	var after Settings
	if err == nil {
		err = json.Unmarshal(content, &after)
	}
	return after["section"]["property"], err
}

func isSame(a, b dbus.Variant) bool {
	return a.Signature() == b.Signature() && cmp.Equal(a.Value(), b.Value(), cmp.Comparer(isSame))
}

// generate returns a random value with a signature.
func generate(random *rand.Rand, signature string, depth int) any {
	bits := random.Uint64() >> random.IntN(64)
	switch signature {
	case "b":
		return bits%2 == 0
	case "y":
		return byte(bits)
	case "n":
		return int16(bits) //nolint:gosec // any value
	case "q":
		return uint16(bits) //nolint:gosec // any value
	case "i":
		return int32(bits) //nolint:gosec // any value
	case "u":
		return uint32(bits) //nolint:gosec // any value
	case "x":
		return int64(bits) //nolint:gosec // any value
	case "t":
		return bits
	case "d":
		return float64(bits) / 3
	case "s":
		letters := []rune("ae0x1[]{}<>@,:'\"\\ \t\n\x01\u00fc\u2028\U0001f600")
		text := make([]rune, random.IntN(8))
		for i := range text {
			text[i] = letters[random.IntN(len(letters))]
		}
		return string(text)
	case "v":
		inner := []string{"b", "y", "i", "u", "x", "s", "as", "ay", "aau", "a{ss}", "a{sv}", "aa{sv}"}
		if depth > 2 {
			inner = inner[:6]
		}
		return dbus.MakeVariant(generate(random, inner[random.IntN(len(inner))], depth+1))
	}
	empty, element := reflect.TypeOf(containers[signature]), strings.TrimPrefix(signature, "a")
	if empty.Kind() == reflect.Map {
		m := reflect.MakeMap(empty)
		for range random.IntN(4) {
			item := generate(random, strings.Trim(element[2:], "}"), depth)
			m.SetMapIndex(reflect.ValueOf(generate(random, "s", depth)), reflect.ValueOf(item))
		}
		return m.Interface()
	}
	list := reflect.MakeSlice(empty, 0, 4)
	for range random.IntN(4) {
		list = reflect.Append(list, reflect.ValueOf(generate(random, element, depth)))
	}
	return list.Interface()
}
