// SPDX-License-Identifier: Apache-2.0

package config

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseLabel(t *testing.T) {
	long := strings.Repeat("x", 64)
	for text, want := range map[string]string{
		"a=b": "", "a=": "", "example.com/role=web-1_2.3": "", "topology.kubernetes.io/zone=a": "",
		"a": "must be KEY=VALUE", "": "must be KEY=VALUE", "=b": "invalid key", "-a=b": "invalid key",
		"a/b/c=d": `invalid key "a/b/c": at most 63 letters`, "Example.com/a=b": "invalid key",
		long + "=a": "invalid key", "a=" + long: "invalid value", "a=b c": "invalid value", "a=-b": "invalid value",
		"a=b=c": "invalid value", "a=${X}": "invalid value", "a=%i": "invalid value", "a=b\nc": "invalid value",
	} {
		_, _, err := ParseLabel(text)
		if (err == nil) != (want == "") || (err != nil && !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestParseTaint(t *testing.T) {
	for text, want := range map[string]string{
		"a=b:NoSchedule": "", "a:NoExecute": "", "example.com/a=b:PreferNoSchedule": "",
		"a=b": "must be KEY[=VALUE]:EFFECT", "a=b:noschedule": "the effect ", "a=b:": "the effect ",
		"a=b:NoSchedule:x": "the effect ",
		":NoSchedule":      "invalid key", "=b:NoSchedule": "invalid key", "a=b=c:NoSchedule": "invalid value",
		"a=b,c:NoSchedule": "invalid value",
	} {
		taint, err := ParseTaint(text)
		if (err == nil) != (want == "") || (err != nil && !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
		if err == nil && taint.ToString() != text {
			t.Errorf("%q is told as %q", text, taint)
		}
	}
}

func TestRegistrationSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	write(t, file, fileHeader+"nodeLabels: [a=file]\nnodeTaints: [b=file:NoSchedule]\n")
	environment := []string{"HCP_NODE_AGENT_NODE_LABEL=a=b,c=d"}
	join, err := Load(Source{
		File:        file,
		Environment: environment,
		Flags:       parsedFlags(t, "--node-taint", "x=1:NoExecute", "--node-taint", "y:NoSchedule"),
	})
	if err != nil {
		t.Fatal(err)
	}
	diff := cmp.Diff([][]string{{"a=b", "c=d"}, {"x=1:NoExecute", "y:NoSchedule"}},
		[][]string{join.Labels, join.Taints})
	if diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
