// SPDX-License-Identifier: Apache-2.0

// Package compatibility compares the formats of stored documents with those of the releases. Its directory testdata
// contains the documents of each release. Its tests, and those of the packages with the formats, fail if this version
// does not read the documents of a release, or writes other keys than the newest one.
package compatibility

import (
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

var update = flag.Bool("update", false, "write the documents of the release that the file VERSION names")

// Root returns the directory of the repository.
func Root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "VERSION")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no parent directory contains the file VERSION")
		}
		dir = filepath.Dir(dir)
	}
}

// Releases returns the directories with the documents of the releases, the newest last.
func Releases(t *testing.T) []string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(Root(t), "test/compatibility/testdata/v*"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("there are no documents of releases: %v", err)
	}
	slices.SortFunc(dirs, func(a, b string) int {
		order, err := version.MustParseSemantic(filepath.Base(a)).Compare(filepath.Base(b))
		if err != nil {
			t.Fatal(err)
		}
		return order
	})
	return dirs
}

// Next returns the directory for the documents of the next release.
func Next(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(Root(t), "VERSION"))
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(Root(t), "test/compatibility/testdata/v"+strings.TrimSpace(string(content)))
}

// IsUpdate reports whether the test must write the documents of the next release instead of comparing its own.
func IsUpdate() bool { return *update }

// Check fails unless content has the keys of the document in the newest release.
func Check(t *testing.T, name string, content []byte) {
	t.Helper()
	if IsUpdate() {
		path := filepath.Join(Next(t), name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // public
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil { //nolint:gosec // public
			t.Fatal(err)
		}
		return
	}
	releases := Releases(t)
	path := filepath.Join(releases[len(releases)-1], name)
	released, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	CheckKeys(t, path, Keys(t, released), Keys(t, content))
}

// CheckPart fails unless the part of a document that value contains has the keys of the newest release, and those of
// all releases can be decoded into the type of the part.
func CheckPart(t *testing.T, name string, value, into any) {
	t.Helper()
	content, err := report.Encode(value)
	if err != nil {
		t.Fatal(err)
	}
	Check(t, name, content)
	for _, release := range Releases(t) {
		released, err := os.ReadFile(filepath.Join(release, name))
		if err == nil {
			err = report.DecodeFields(released, into)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // the part may be newer than the release
			t.Errorf("%s: %v", filepath.Join(release, name), err)
		}
	}
}

// CheckKeys fails unless both documents have the same keys.
func CheckKeys(t *testing.T, path string, released, written []string) {
	t.Helper()
	if diff := cmp.Diff(released, written); diff != "" {
		t.Errorf("this version does not write the format of %s (-released +written):\n%s\n"+
			"A new key requires the documents of the next release: see docs/compatibility.md. "+
			"Any other change requires another apiVersion.", path, diff)
	}
}

// Keys returns the paths of the keys of a JSON or YAML document, sorted.
func Keys(t *testing.T, content []byte) []string {
	t.Helper()
	var document any
	if err := yaml.Unmarshal(content, &document); err != nil {
		t.Fatalf("%v: %s", err, content)
	}
	return keysOf("", document)
}

func keysOf(prefix string, value any) []string {
	var keys []string
	switch value := value.(type) {
	case map[string]any:
		for key, one := range value {
			keys = append(keys, prefix+key)
			keys = append(keys, keysOf(prefix+key+".", one)...)
		}
	case []any:
		for _, one := range value {
			keys = append(keys, keysOf(prefix, one)...)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// Fill returns a value all of whose stored fields are set, so that its document has all keys of the format.
func Fill[T any](t *testing.T) T {
	t.Helper()
	var value T
	fill(t, reflect.ValueOf(&value).Elem())
	return value
}

// exampleTime is the time in filled values.
var exampleTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func fill(t *testing.T, value reflect.Value) {
	t.Helper()
	switch field := value.Addr().Interface().(type) {
	case *time.Time:
		*field = exampleTime
		return
	case *netip.Addr:
		*field = netip.MustParseAddr("192.0.2.1")
		return
	case *netip.Prefix:
		*field = netip.MustParsePrefix("192.0.2.0/24")
		return
	case *json.RawMessage:
		*field = json.RawMessage("null")
		return
	case *networkmanager.Settings:
		*field = networkmanager.Settings{}
		field.Set("connection", "id", "example")
		return
	}
	switch value.Kind() {
	case reflect.Struct:
		for i := range value.NumField() {
			if field := value.Type().Field(i); field.IsExported() && field.Tag.Get("json") != "-" {
				fill(t, value.Field(i))
			}
		}
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
		fill(t, value.Elem())
	case reflect.Slice:
		value.Set(reflect.MakeSlice(value.Type(), 1, 1))
		fill(t, value.Index(0))
	case reflect.Map:
		value.Set(reflect.MakeMap(value.Type()))
		key, element := reflect.New(value.Type().Key()).Elem(), reflect.New(value.Type().Elem()).Elem()
		fill(t, key)
		fill(t, element)
		value.SetMapIndex(key, element)
	case reflect.String:
		value.SetString("example")
	case reflect.Bool:
		value.SetBool(true)
	case reflect.Int64:
		value.SetInt(int64(time.Second))
	case reflect.Int, reflect.Int32:
		value.SetInt(4) // a valid address family, and part of a valid release
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		value.SetUint(1)
	case reflect.Float64:
		value.SetFloat(1)
	default:
		t.Fatalf("there is no example of the type %s", value.Type())
	}
}
