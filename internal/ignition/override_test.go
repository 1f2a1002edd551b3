package ignition

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

const overriddenPayload = `{"ignition":{"version":"3.2.0"},
	"passwd":{"users":[{"name":"core","sshAuthorizedKeys":["a"]}]},
	"storage":{
		"directories":[{"path":"/etc/own.d","mode":448}],
		"files":[
			{"path":"/etc/a","mode":420,"overwrite":true,"contents":{"source":"data:,base"}},
			{"path":"/etc/b","mode":420,"contents":{"source":"data:,base"}},
			{"path":"/etc/c","contents":{"source":"data:,base"}}]},
	"systemd":{"units":[
		{"name":"a.service","enabled":true,"contents":"[Install]\nWantedBy=x.target\n","dropins":[{"name":"1.conf","contents":"[Unit]\n"}]},
		{"name":"b.service","contents":"[Service]\n"}]}}`

func overridePayload(t *testing.T, base string, configs ...string) *Payload {
	t.Helper()
	p, err := LoadPayload([]byte(base))
	if err != nil {
		t.Fatal(err)
	}
	raw := make([][]byte, 0, len(configs))
	for _, config := range configs {
		raw = append(raw, []byte(config))
	}
	merged, err := p.Override(raw...)
	if err != nil {
		t.Fatal(err)
	}
	return merged
}

func TestOverrideMerges(t *testing.T) {
	p := overridePayload(t, overriddenPayload,
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
	want := map[string]file{"/etc/a": {"second", 0o644}, "/etc/b": {"base", 0o600}, "/etc/c": {"base", 0o644}, "/etc/d": {"second", 0o644}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if _, dropins, enabled, _ := p.Unit("a.service"); len(dropins) != 2 || enabled == nil || !*enabled {
		t.Errorf("a.service: %v, enabled %v", dropins, enabled)
	}
	if _, _, enabled, _ := p.Unit("b.service"); enabled == nil || !*enabled {
		t.Error("b.service is not enabled")
	}
	if string(p.Raw) != overriddenPayload {
		t.Error("what was served is not kept")
	}
}

// The plan marks each entry that an override affects.
func TestPlanMarksOverriddenEntries(t *testing.T) {
	p := overridePayload(t, overriddenPayload, `{"ignition":{"version":"3.2.0"},
		"storage":{"directories":[{"path":"/etc/new.d"}],"files":[{"path":"/etc/a","contents":{"source":"data:,other"}}],"links":[{"path":"/etc/l","target":"/etc/a"}]},
		"systemd":{"units":[{"name":"a.service","enabled":false,"dropins":[{"name":"2.conf","contents":"[Service]\n"}]},{"name":"b.service","mask":true}]}}`)
	plan, err := Adapt(p, plainHost())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range slices.Concat(plan.Files, plan.Units) {
		if c.Reason == "override" {
			got = append(got, c.Key())
		}
	}
	slices.Sort(got)
	want := []string{
		"directory:/etc/new.d", "file:/etc/a", "file:/etc/systemd/system/a.service.d/2.conf",
		"link:/etc/l", "link:/etc/systemd/system/b.service", "unit:a.service",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("overridden (-want +got):\n%s", diff)
	}
	i := slices.IndexFunc(plan.Notes, func(n Note) bool { return n.Rule == "override" })
	if i < 0 || !strings.Contains(plan.Notes[i].Reason, "/etc/a, /etc/l, /etc/new.d, ") || strings.Contains(plan.Notes[i].Reason, "degrade") {
		t.Errorf("notes: %v", plan.Notes)
	}
	in := plainHost()
	in.Hosted = false
	if plan, err = Adapt(p, in); err != nil || !strings.Contains(plan.Notes[slices.IndexFunc(plan.Notes, func(n Note) bool { return n.Rule == "override" })].Reason, "degrade") {
		t.Errorf("a standalone cluster's plan has no warning: %v, %v", plan.Notes, err)
	}
}

// The reason of a change names the rule, even if an override added the entry.
func TestRulesApplyToOverrides(t *testing.T) {
	p := overridePayload(t, overriddenPayload, `{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/kubernetes/kubeconfig","mode":420,"contents":{"source":"data:,a"}}]}}`)
	plan, err := Adapt(p, plainHost())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(plan.Files, func(c ledger.Change) bool { return c.Target == kubeconfigPath })
	if i < 0 || plan.Files[i].Reason != "adapt: secret-mode" || *plan.Files[i].Desired.Mode != 0o600 {
		t.Errorf("planned as %+v", plan.Files)
	}
}

// Without overrides the payload is unchanged.
func TestOverrideWithoutConfigs(t *testing.T) {
	for name, configs := range map[string][]string{"none": nil, "empty": {`{"ignition":{"version":"3.4.0"}}`}} {
		p := overridePayload(t, overriddenPayload, configs...)
		if len(p.overridden) != 0 || p.FileCount() != 3 || p.UnitCount() != 2 {
			t.Errorf("%s: %v is overridden", name, p.overridden)
		}
	}
}

func TestOverrideOfRealPayloadsWithoutConfigs(t *testing.T) {
	for _, name := range realPayloads(t, "worker-*.ign") {
		same, err := loadRealPayload(t, name).Override([]byte(`{"ignition":{"version":"3.4.0"}}`))
		if err != nil || len(same.overridden) != 0 {
			t.Errorf("%s: %v, %v", name, same, err)
		}
	}
}

func TestOverrideDoesNotChangeThePayload(t *testing.T) {
	p, err := LoadPayload([]byte(overriddenPayload))
	if err != nil {
		t.Fatal(err)
	}
	before, err := LoadPayload([]byte(overriddenPayload))
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
	if err := CheckOverride("a.ign", []byte(`{"ignition":{"version":"3.6.0"}}`)); err != nil {
		t.Error(err)
	}
	for name, test := range map[string]struct{ config, want string }{
		"no JSON":      {"{\n  nothing\n}", "line 2"},
		"wrong type":   {"{\"ignition\":{\"version\":\"3.2.0\"},\n\"storage\":\n7}", "line 3"},
		"bad path":     {"{\"ignition\":{\"version\":\"3.2.0\"},\n\"storage\":{\"files\":[\n{\"path\":\"etc/a\"}]}}", "line 3"},
		"other spec":   {`{"ignition":{"version":"2.2.0"}}`, "spec 2.2.0"},
		"later spec":   {`{"ignition":{"version":"3.9.0"}}`, "spec 3.9.0"},
		"no config":    {`{}`, "no ignition.version"},
		"two the same": {`{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/a"},{"path":"/a"}]}}`, "duplicate"},
	} {
		t.Run(name, func(t *testing.T) {
			err := CheckOverride("site.ign", []byte(test.config))
			checkFailure(t, err, report.Usage, test.want)
			checkFailure(t, err, report.Usage, "reading Ignition override site.ign")
		})
	}
}

// Configs that are valid alone can be invalid when merged.
func TestOverrideRejectsInvalidMerge(t *testing.T) {
	p, err := LoadPayload([]byte(overriddenPayload))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ config, want string }{
		"a link as a parent":  {`{"ignition":{"version":"3.2.0"},"storage":{"links":[{"path":"/etc","target":"/x"}]}}`, "do not fit together"},
		"encapsulated config": {`{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"` + encapsulatedPath + `","contents":{"source":"data:,no"}}]}}`, encapsulatedPath},
		"a bad hash":          {`{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/a","contents":{"source":"data:,x","verification":{"hash":"sha256-` + strings.Repeat("0", 64) + `"}}}]}}`, "file /etc/a"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := p.Override([]byte(test.config))
			checkFailure(t, err, report.Usage, test.want)
		})
	}
}
