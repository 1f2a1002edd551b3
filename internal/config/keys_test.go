// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"os"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// The file has a separate key for the setting of each flag, and the key sets the same value
// as the flag.
func TestKeys(t *testing.T) {
	seen := map[string]bool{}
	FlagSet(&Join{}).VisitAll(func(flag *pflag.Flag) {
		key := Key(flag.Name)
		if key == "" || seen[key] {
			t.Errorf("--%s is %q in the file", flag.Name, key)
		}
		seen[key] = true
		value := map[string]string{
			"nodepool": "a/b", "connect-to": "a:1", "payload-drop": "[a.service]", "verify-reach": "[a:1]",
			"network-timeout": "1m0s", "node-label": "[a=b]",
			"node-taint": "[a:NoSchedule]", "openshift-release": "4.18", "software": "rpm", "apply-host-settings": "apply",
			"until": "ready", "timeout": "1s", "skip": "[network]",
		}[flag.Name]
		value = cmp.Or(value, map[string]string{"bool": "true", "stringSlice": "[x]"}[flag.Value.Type()], "x")
		want := Join{APIVersion: report.APIVersion, Kind: Kind}
		one := FlagSet(&want)
		if err := one.Set(flag.Name, strings.Trim(value, "[]")); err != nil {
			t.Fatal(err)
		}
		var got Join
		content := fileHeader + strings.ReplaceAll(key, ".", ":\n  ") + ": " + value + "\n"
		_, problems := readFile("config.yaml", []byte(content), &got)
		if diff := gocmp.Diff(want, got); diff != "" || len(problems) > 0 {
			t.Errorf("%s: %v (-flag +file):\n%s", key, problems, diff)
		}
		if e := Explain(Source{File: os.DevNull, Flags: one}); !slices.ContainsFunc(e.Settings, func(s Setting) bool {
			return s.Key == key && s.Origin.Location == "--"+flag.Name
		}) {
			t.Errorf("config show does not print %s: %+v", key, e.Settings)
		}
	})
	for flag, want := range map[string]string{
		"user-data": "userData", "payload-drop": "payload.drop", "node-label": "nodeLabels",
		"network-timeout": "networkTimeout", "keep-bootstrap": "keepBootstrap",
		"apply-host-settings": "hostSettings",
	} {
		if got := Key(flag); got != want {
			t.Errorf("--%s is %q in the file, want %q", flag, got, want)
		}
	}
	if got := Variable("user-data"); got != "HCP_NODE_AGENT_USER_DATA" || !strings.HasPrefix(got, EnvironmentPrefix) {
		t.Errorf("the variable is %s", got)
	}
}
