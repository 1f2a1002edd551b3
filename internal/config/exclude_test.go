// SPDX-License-Identifier: Apache-2.0

package config

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExcludePatterns(t *testing.T) {
	for pattern, good := range map[string]bool{
		"/etc/kubernetes/manifests/keepalived.yaml": true, "/etc/example.d/**": true, "/etc/*/a?.[ch]": true,
		"kubens.service": true, "*.timer": true, "kubens.service/*.conf": true, "own@*.service": true,
		"": false, "/etc/": false, "/etc//a": false, "/etc/../a": false, "etc/example.d/a": false, "./a": false,
		"../a.service": false, "a.service/": false,
		"/etc/**/a": false, "/etc/[": false, "**": false,
	} {
		if err := checkExclude(pattern); (err == nil) != good {
			t.Errorf("%q: %v", pattern, err)
		}
	}
}

// Each source can set lists too, and a list of a later source replaces an earlier one.
func TestLaterSourceReplacesList(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	write(t, file, fileHeader+"ignitionOverrides: [/file/a, /file/b]\npayload:\n  drop: [/file/a, b.service]\n")
	for name, test := range map[string]struct {
		environment     []string
		args            []string
		overrides, drop []string
	}{
		"file": {nil, nil, []string{"/file/a", "/file/b"}, []string{"/file/a", "b.service"}},
		"environment": {
			[]string{"HCP_NODE_AGENT_IGNITION_OVERRIDE=/env/a,/env/b", "HCP_NODE_AGENT_PAYLOAD_DROP=/env/*"},
			nil,
			[]string{"/env/a", "/env/b"},
			[]string{"/env/*"},
		},
		"flags": {
			[]string{"HCP_NODE_AGENT_PAYLOAD_DROP=/env/*"},
			[]string{
				"--ignition-override", "/flag/a", `--ignition-override="/flag/b,c"`, "--payload-drop", "/x,y.service",
				"--payload-drop=z.service",
			},
			[]string{"/flag/a", "/flag/b,c"},
			[]string{"/x", "y.service", "z.service"},
		},
	} {
		join, err := Load(Source{File: file, Environment: test.environment, Flags: parsedFlags(t, test.args...)})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(test.overrides, join.IgnitionOverrides); diff != "" {
			t.Errorf("%s: overrides (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(test.drop, join.Payload.Exclude); diff != "" {
			t.Errorf("%s: drop (-want +got):\n%s", name, diff)
		}
	}
}
