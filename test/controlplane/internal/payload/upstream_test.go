// SPDX-License-Identifier: Apache-2.0

package payload_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coreos/ignition/v2/config/v3_6/types"
	"github.com/google/go-cmp/cmp"
	"github.com/vincent-petithory/dataurl"

	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/payload"
)

// realPayload returns the body of a real machine-config server's response. It skips the test if
// no such file exists beside the repository.
func realPayload(t *testing.T, name string) []byte {
	t.Helper()
	path := filepath.Join("..", "..", "..", "..", "..", "shared", "payloads", name)
	body, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("no %s to compare with: this checkout has no real payloads beside it", path)
	}
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func TestShapeMatchesRealPayload(t *testing.T) {
	declared := map[string]bool{}
	for _, d := range payload.Differences() {
		for _, path := range d.Paths {
			declared[path] = true
		}
	}
	want := shape(parse(t, realPayload(t, "worker-4.18.ign")))
	got := shape(parse(t, build(t).Body))
	for name := range union(want, got) {
		excluded := want[name] == "" || got[name] == ""
		if want[name] == got[name] || excluded && declared[name] {
			continue
		}
		t.Errorf("%s is %q, on the real thing %q", name, got[name], want[name])
	}
}

// Contents that affect a machine must be equal line by line, except for the values of another
// cluster and the differences in differences.go.
func TestConfigurationMatchesRealPayload(t *testing.T) {
	want := decoded(t, parse(t, realPayload(t, "worker-4.18.ign")))
	got := decoded(t, parse(t, build(t).Body))
	declared := map[string]bool{}
	for _, d := range payload.Differences() {
		for _, path := range d.Paths {
			declared[path] = true
		}
	}
	for path, content := range want {
		acts := strings.HasPrefix(path, "/etc/sysctl.d/") || strings.HasPrefix(path, "/etc/NetworkManager/conf.d/") ||
			strings.HasPrefix(path, "/etc/systemd/") || strings.HasPrefix(path, "/etc/tmpfiles.d/") ||
			strings.HasPrefix(path, "/etc/modules-load.d/") || !strings.HasPrefix(path, "/")
		if !acts || declared[path] {
			continue
		}
		if diff := cmp.Diff(directives(content), directives(got[path])); diff != "" {
			t.Errorf("%s (-real +built):\n%s", path, diff)
		}
	}
}

func TestKubeletFlagsMatchRealPayload(t *testing.T) {
	flags := regexp.MustCompile(`(?m)^\s+(--[a-z-]+)=`)
	names := func(config types.Config) []string {
		var names []string
		for _, match := range flags.FindAllStringSubmatch(decoded(t, config)["kubelet.service"], -1) {
			names = append(names, match[1])
		}
		return names
	}
	want, got := names(parse(t, realPayload(t, "worker-4.18.ign"))), names(parse(t, build(t).Body))
	if diff := cmp.Diff(want, got); diff != "" || len(got) == 0 {
		t.Errorf("kubelet's flags (-real +built):\n%s", diff)
	}
}

func TestUserDataMatchesRealUserData(t *testing.T) {
	built, err := payload.UserData{Endpoint: "e", Token: "t", NodePool: "n/p", Hash: "h", CA: []byte("c")}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	values := regexp.MustCompile(`"(value|source)":"[^"]*"`)
	blank := func(userData []byte) string {
		return values.ReplaceAllString(strings.TrimSpace(string(userData)), `"$1":""`)
	}
	if diff := cmp.Diff(blank(realPayload(t, "stub-example.ign")), blank(built)); diff != "" {
		t.Errorf("the user data without its values (-real +built):\n%s", diff)
	}
}

// shape returns all properties of files and units except their contents.
func shape(config types.Config) map[string]string {
	shapes := map[string]string{}
	for _, f := range config.Storage.Files {
		compression := "absent"
		if f.Contents.Compression != nil {
			compression = fmt.Sprintf("%q", *f.Contents.Compression)
		}
		scheme, _, _ := strings.Cut(*f.Contents.Source, ",")
		shapes[f.Path] = fmt.Sprintf("file %#o overwrite=%t %s compression=%s", *f.Mode, *f.Overwrite, scheme, compression)
	}
	for _, u := range config.Systemd.Units {
		state, _ := json.Marshal(u.Enabled)
		var dropins []string
		for _, d := range u.Dropins {
			dropins = append(dropins, d.Name)
		}
		shapes[u.Name] = fmt.Sprintf("unit enabled=%s contents=%t drop-ins=%v", state, u.Contents != nil, dropins)
	}
	return shapes
}

// decoded returns the contents of files and units by path and unit name. Drop-ins are named
// UNIT.d/NAME.
func decoded(t *testing.T, config types.Config) map[string]string {
	t.Helper()
	contents := map[string]string{}
	for _, f := range config.Storage.Files {
		url, err := dataurl.DecodeString(*f.Contents.Source)
		if err != nil {
			t.Fatalf("%s: %v", f.Path, err)
		}
		content := url.Data
		if f.Contents.Compression != nil && *f.Contents.Compression == "gzip" {
			content = gunzip(t, content)
		}
		contents[f.Path] = string(content)
	}
	for _, u := range config.Systemd.Units {
		if u.Contents != nil {
			contents[u.Name] = *u.Contents
		}
		for _, d := range u.Dropins {
			contents[u.Name+".d/"+d.Name] = *d.Contents
		}
	}
	return contents
}

// directives returns the effective lines of a file: without comments, descriptions,
// documentation, image names and repeated blanks.
func directives(content string) []string {
	image := regexp.MustCompile(`[a-z0-9.:-]+/[a-z0-9./-]+@sha256:[0-9a-f]+`)
	var lines []string
	for line := range strings.Lines(content) {
		line = strings.Join(strings.Fields(image.ReplaceAllString(line, "IMAGE")), " ")
		if line == "" || line[0] == '#' || strings.HasPrefix(line, "Description=") ||
			strings.HasPrefix(line, "Documentation=") {
			continue
		}
		lines = append(lines, line)
	}
	slices.Sort(lines) // the order within a section is irrelevant, and there are few sections
	return lines
}

func union(a, b map[string]string) map[string]bool {
	all := map[string]bool{}
	for name := range a {
		all[name] = true
	}
	for name := range b {
		all[name] = true
	}
	return all
}
