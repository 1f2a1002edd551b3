// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/entries"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/ignitiontest"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
)

const excludablePayload = `{"ignition":{"version":"3.2.0"},"storage":{
	"directories":[{"path":"/etc/d"}],
	"files":[{"path":"/etc/d/a"},{"path":"/etc/d/e/b"},{"path":"/etc/c"}],
	"links":[{"path":"/etc/d/l","target":"/x"},{"path":"/etc/h","target":"/etc/c","hard":true}]},
	"systemd":{"units":[
		{"name":"a.service","enabled":true,"contents":"[Install]\nWantedBy=x.target\n","dropins":[{"name":"1.conf","contents":"[Unit]\n"},{"name":"2.conf","contents":""}]},
		{"name":"b.timer","enabled":true,"contents":"[Install]\nWantedBy=x.target\n"}]}}`

func TestExcludePatterns(t *testing.T) {
	const unit = "/etc/systemd/system/"
	all := []string{
		"/etc/c", "/etc/d", "/etc/d/a", "/etc/d/e/b", "/etc/d/l", "/etc/h",
		unit + "a.service", unit + "a.service.d/1.conf", unit + "a.service.d/2.conf", unit + "b.timer", "a.service",
		"b.timer", entries.PresetPath,
	}
	for name, test := range map[string]struct {
		drop []string
		gone []string
		skip []string // the subjects of notes
	}{
		"nothing":              {nil, nil, nil},
		"a file":               {[]string{"/etc/d/a"}, []string{"/etc/d/a"}, []string{"/etc/d/a"}},
		"files of a directory": {[]string{"/etc/d/*"}, []string{"/etc/d/a", "/etc/d/l"}, []string{"/etc/d/a", "/etc/d/l"}},
		"all below a directory": {
			[]string{"/etc/d/**"},
			[]string{"/etc/d/a", "/etc/d/e/b", "/etc/d/l"},
			[]string{"/etc/d/a", "/etc/d/e/b", "/etc/d/l"},
		},
		"a directory, a link": {[]string{"/etc/d", "/etc/[h]"}, []string{"/etc/d", "/etc/h"}, []string{"/etc/d", "/etc/h"}},
		"a unit": {
			[]string{"a.service"}, []string{
				unit + "a.service", unit + "a.service.d/1.conf", unit + "a.service.d/2.conf", "a.service",
			}, []string{"a.service"},
		},
		"units": {[]string{"*.timer"}, []string{unit + "b.timer", "b.timer"}, []string{"b.timer"}},
		"a drop-in": {
			[]string{"a.service/1.conf"}, []string{unit + "a.service.d/1.conf"}, []string{unit + "a.service.d/1.conf"},
		},
		"an empty drop-in": {
			[]string{"a.*/2*"}, []string{unit + "a.service.d/2.conf"}, []string{unit + "a.service.d/2.conf"},
		},
		"a path is no unit": {[]string{unit + "a.service"}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			plan := adaptConfig(t, excludablePayload, func(in *Input) { in.Exclude = test.drop })
			var got, skipped []string
			for _, c := range slices.Concat(plan.Files, plan.Units) {
				got = append(got, c.Target)
			}
			for _, note := range plan.Notes {
				if note.Rule == "payload-drop" && note.Action == Skip {
					skipped = append(skipped, note.Subject)
					if !slices.ContainsFunc(test.drop,
						func(pattern string) bool { return strings.Contains(note.Reason, `"`+pattern+`"`) }) {
						t.Errorf("the pattern is not named: %s", note)
					}
				}
			}
			want := slices.DeleteFunc(slices.Clone(all), func(target string) bool { return slices.Contains(test.gone, target) })
			slices.Sort(got)
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			slices.Sort(skipped)
			if diff := cmp.Diff(test.skip, skipped); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}

// A pattern that matches nothing is usually a typing error.
func TestUnusedExcludePatternIsNoted(t *testing.T) {
	plan := adaptConfig(t, excludablePayload, func(in *Input) {
		in.Exclude = []string{"/etc/d/a", "/etc/x", "c.service", "/etc/systemd/system/a.service", "/etc/d/*"}
	})
	var got []string
	for _, note := range plan.Notes {
		if note.Action == Report && note.Rule == "payload-drop" {
			got = append(got, note.Subject)
		}
	}
	if diff := cmp.Diff([]string{"pattern /etc/x", "pattern c.service", "pattern /etc/systemd/system/a.service"},
		got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if text := plan.Notes[len(plan.Notes)-1].Reason; !strings.HasSuffix(text, "specify units without a path") {
		t.Error(text)
	}
}

// Entries without which the host cannot become a node cannot be excluded.
func TestExcludeRejectsRequiredEntries(t *testing.T) {
	p, err := ignition.LoadPayload([]byte(`{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"` +
		ignition.KubeletConfigPath + `","contents":` +
		ignitiontest.InlineContent(`{"authentication":{"x509":{"clientCAFile":"/etc/kubernetes/kubelet-ca.crt"}}}`) + `}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	for pattern, want := range map[string]string{
		"kubelet.service": "kubelet.service", "*": "kubelet.service", "kubelet.*": "kubelet.service",
		"/etc/kubernetes/kubeconfig":  ignition.BootstrapKubeconfigPath,
		"/etc/kubernetes/kubelet.co*": ignition.KubeletConfigPath, "/**": ignition.BootstrapKubeconfigPath,
		"/etc/kubernetes/*.crt": "/etc/kubernetes/kubelet-ca.crt",
	} {
		in := plainHost()
		in.Exclude = []string{"/etc/fine", pattern}
		_, err := ToHost(p, in)
		reporttest.CheckFailure(t, err, report.Usage, `pattern "`+pattern+`" would exclude `+want)
	}
	in := plainHost()
	in.Exclude = []string{"kubelet.service/*", "/etc/kubernetes/manifests/*", "kubelet-*"}
	if _, err := ToHost(p, in); err != nil {
		t.Error(err)
	}
}

// A hard link to an excluded file would have no target.
func TestExcludeRejectsHardLinkTargets(t *testing.T) {
	p, err := ignition.LoadPayload([]byte(excludablePayload))
	if err != nil {
		t.Fatal(err)
	}
	in := plainHost()
	in.Exclude = []string{"/etc/c"}
	_, err = ToHost(p, in)
	reporttest.CheckFailure(t, err, report.Failed, "/etc/h must be a hard link to /etc/c, which does not exist")
	in.Exclude = []string{"/etc/c", "/etc/h"}
	if _, err := ToHost(p, in); err != nil {
		t.Error(err)
	}
}

// An excluded unit that another unit requires is missing, as if the payload did not contain it.
func TestExcludedRequiredUnitIsMissing(t *testing.T) {
	plan := adaptConfig(t,
		systemdConfig(`{"name":"a.service","enabled":true,"contents":"[Unit]\nRequires=b.service\n[Install]\nWantedBy=x.target\n"},{"name":"b.service","contents":"[Service]\n"}`),
		func(in *Input) { in.Exclude = []string{"b.service"} })
	if len(plan.MissingUnits) != 1 || !strings.HasPrefix(plan.MissingUnits[0], "b.service (required by a.service") {
		t.Errorf("missing: %q", plan.MissingUnits)
	}
}

// A worker outside the cluster's own network: the static pod of keepalived is excluded, and a
// file for its site is added.
func TestExcludeAndOverrideForRemoteWorker(t *testing.T) {
	const manifests = "/etc/kubernetes/manifests/"
	base := `{"ignition":{"version":"3.2.0"},"storage":{"files":[
		{"path":"` + manifests + `keepalived.yaml","mode":420,"contents":{"source":"data:,a"}},
		{"path":"` + manifests + `coredns.yaml","mode":420,"contents":{"source":"data:,b"}}]}}`
	site := `{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/etc/site.conf","mode":384,"contents":{"source":"data:,c"}}]}}`
	in := plainHost()
	if plan := adaptConfig(t, base, nil); ruleFor(plan, manifests+"keepalived.yaml") != "report keepalived" {
		t.Errorf("nothing is said of keepalived: %v", plan.Notes)
	}
	in.Exclude = []string{manifests + "keepalived.yaml"}
	plan, err := ToHost(ignitiontest.Override(t, base, site), in)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range plan.Files {
		got[c.Target] = string(c.Desired.Content) + " " + c.Reason
	}
	want := map[string]string{manifests + "coredns.yaml": "b payload", "/etc/site.conf": "c override"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := ruleFor(plan, manifests+"keepalived.yaml"); got != "skip payload-drop" {
		t.Errorf("rule %q", got)
	}
	standalone := plainHost()
	standalone.Hosted, standalone.Exclude = false, in.Exclude
	if plan = adaptConfig(t, base, func(in *Input) { *in = standalone }); !slices.ContainsFunc(plan.Notes,
		func(n Note) bool {
			return n.Rule == "payload-drop" && strings.Contains(n.Reason, "degrades the pool")
		}) {
		t.Errorf("no warning for a standalone cluster: %v", plan.Notes)
	}
	if slices.ContainsFunc(plan.Files, func(c ledger.Change) bool { return strings.Contains(c.Target, "keepalived") }) {
		t.Error("keepalived is written")
	}
}
