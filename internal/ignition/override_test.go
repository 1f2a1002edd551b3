// SPDX-License-Identifier: Apache-2.0

package ignition_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/ignitiontest"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
)

func TestOverrideMerges(t *testing.T) {
	p := ignitiontest.Override(t, ignitiontest.OverriddenPayload,
		`{"ignition":{"version":"3.0.0"},"storage":{"files":[{"path":"/etc/b","mode":384},{"path":"/etc/d","contents":{"source":"data:,first"}}]},
			"systemd":{"units":[{"name":"a.service","dropins":[{"name":"2.conf","contents":"[Service]\n"}]}]}}`,
		`{"ignition":{"version":"3.6.0"},"storage":{"files":[{"path":"/etc/a","contents":{"source":"data:,second"}},{"path":"/etc/d","contents":{"source":"data:,second"}}]},
			"systemd":{"units":[{"name":"b.service","enabled":true}]}}`)
	type file struct {
		Content string
		Mode    uint32
	}
	got := map[string]file{}
	for _, name := range []string{"/etc/a", "/etc/b", "/etc/c", "/etc/d"} {
		content, mode, _ := p.File(name)
		got[name] = file{string(content), mode}
	}
	want := map[string]file{
		"/etc/a": {"second", 0o644},
		"/etc/b": {"base", 0o600},
		"/etc/c": {"base", 0o644},
		"/etc/d": {"second", 0o644},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if _, dropins, enabled, _ := p.Unit("a.service"); len(dropins) != 2 || enabled == nil || !*enabled {
		t.Errorf("a.service: %v, enabled %v", dropins, enabled)
	}
	if _, _, enabled, _ := p.Unit("b.service"); enabled == nil || !*enabled {
		t.Error("b.service is not enabled")
	}
	if string(p.Raw) != ignitiontest.OverriddenPayload {
		t.Error("what was served is not kept")
	}
}

func TestOverrideDoesNotChangeThePayload(t *testing.T) {
	p, err := ignition.LoadPayload([]byte(ignitiontest.OverriddenPayload))
	if err != nil {
		t.Fatal(err)
	}
	before, err := ignition.LoadPayload([]byte(ignitiontest.OverriddenPayload))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := p.Override([]byte(`{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/a","contents":{"source":"data:,x"}}]},"systemd":{"units":[{"name":"a.service","enabled":false}]}}`)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(before.Config, p.Config); diff != "" {
		t.Errorf("the payload was changed:\n%s", diff)
	}
	if content, _, _ := p.File("/etc/a"); string(content) != "base" {
		t.Errorf("content %s", content)
	}
}

func TestCheckOverride(t *testing.T) {
	if err := ignition.CheckOverride("a.ign", []byte(`{"ignition":{"version":"3.6.0"}}`)); err != nil {
		t.Error(err)
	}
	for name, test := range map[string]struct{ config, want string }{
		"no JSON":    {"{\n  nothing\n}", "line 2"},
		"wrong type": {"{\"ignition\":{\"version\":\"3.2.0\"},\n\"storage\":\n7}", "line 3"},
		"bad path": {
			"{\"ignition\":{\"version\":\"3.2.0\"},\n\"storage\":{\"files\":[\n{\"path\":\"etc/a\"}]}}", "line 3",
		},
		"other spec":   {`{"ignition":{"version":"2.2.0"}}`, "spec 2.2.0"},
		"later spec":   {`{"ignition":{"version":"3.9.0"}}`, "spec 3.9.0"},
		"no config":    {`{}`, "ignition.version is missing"},
		"two the same": {`{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/a"},{"path":"/a"}]}}`, "duplicate"},
	} {
		t.Run(name, func(t *testing.T) {
			err := ignition.CheckOverride("site.ign", []byte(test.config))
			reporttest.CheckFailure(t, err, report.Usage, test.want)
			reporttest.CheckFailure(t, err, report.Usage, "reading the Ignition override site.ign")
		})
	}
}

// Configs that are valid alone can be invalid when merged.
func TestOverrideRejectsInvalidMerge(t *testing.T) {
	p, err := ignition.LoadPayload([]byte(ignitiontest.OverriddenPayload))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ config, want string }{
		"a link as a parent": {
			`{"ignition":{"version":"3.2.0"},"storage":{"links":[{"path":"/etc","target":"/x"}]}}`,
			"the merged config is not valid",
		},
		"encapsulated config": {
			`{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"` + ignition.MachineConfigPath +
				`","contents":{"source":"data:,no"}}]}}`, ignition.MachineConfigPath,
		},
		"a bad hash": {
			`{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/a","contents":{"source":"data:,x","verification":{"hash":"sha256-` + strings.Repeat("0", 64) + `"}}}]}}`, "file /etc/a",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := p.Override([]byte(test.config))
			reporttest.CheckFailure(t, err, report.Usage, test.want)
		})
	}
}
