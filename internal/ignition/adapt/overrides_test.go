// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/test/ignitiontest"
)

// The plan marks each entry that an override affects.
func TestPlanMarksOverriddenEntries(t *testing.T) {
	p := ignitiontest.Override(t, ignitiontest.OverriddenPayload, `{"ignition":{"version":"3.2.0"},
		"storage":{"directories":[{"path":"/etc/new.d"}],"files":[{"path":"/etc/a","contents":{"source":"data:,other"}}],"links":[{"path":"/etc/l","target":"/etc/a"}]},
		"systemd":{"units":[{"name":"a.service","enabled":false,"dropins":[{"name":"2.conf","contents":"[Service]\n"}]},{"name":"b.service","mask":true}]}}`)
	plan, err := ToHost(p, plainHost())
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
	if i < 0 || !strings.Contains(plan.Notes[i].Reason, "/etc/a, /etc/l, /etc/new.d, ") ||
		strings.Contains(plan.Notes[i].Reason, "degrade") {
		t.Errorf("notes: %v", plan.Notes)
	}
	in := plainHost()
	in.Hosted = false
	if plan, err = ToHost(p, in); err != nil ||
		!strings.Contains(plan.Notes[slices.IndexFunc(plan.Notes, func(n Note) bool { return n.Rule == "override" })].Reason,
			"degrade") {
		t.Errorf("a standalone cluster's plan has no warning: %v, %v", plan.Notes, err)
	}
}

// The reason of a change names the rule, even if an override added the entry.
func TestRulesApplyToOverrides(t *testing.T) {
	p := ignitiontest.Override(t, ignitiontest.OverriddenPayload,
		`{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/kubernetes/kubeconfig","mode":420,"contents":{"source":"data:,a"}}]}}`)
	plan, err := ToHost(p, plainHost())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(plan.Files, func(c ledger.Change) bool { return c.Target == ignition.BootstrapKubeconfigPath })
	if i < 0 || plan.Files[i].Reason != "adapt: secret-mode" || *plan.Files[i].Desired.Mode != 0o600 {
		t.Errorf("planned as %+v", plan.Files)
	}
}

// Without overrides the payload is unchanged.
func TestOverrideWithoutConfigs(t *testing.T) {
	for name, configs := range map[string][]string{"none": nil, "empty": {`{"ignition":{"version":"3.4.0"}}`}} {
		p := ignitiontest.Override(t, ignitiontest.OverriddenPayload, configs...)
		if changed := overriddenTargets(p); len(changed) != 0 || p.FileCount() != 3 || p.UnitCount() != 2 {
			t.Errorf("%s: %v is overridden", name, changed)
		}
	}
}

func TestOverrideOfRealPayloadsWithoutConfigs(t *testing.T) {
	for _, name := range ignitiontest.RealPayloads(t, "worker-*.ign") {
		same, err := ignitiontest.LoadRealPayload(t, name).Override([]byte(`{"ignition":{"version":"3.4.0"}}`))
		if err != nil || len(overriddenTargets(same)) != 0 {
			t.Errorf("%s: %v, %v", name, same, err)
		}
	}
}
