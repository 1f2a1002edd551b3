// SPDX-License-Identifier: Apache-2.0

package nodepool

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestSkew(t *testing.T) {
	for _, test := range []struct{ pool, cluster, want string }{
		{"4.20.3", "4.20.3", ""},
		{"4.17.9", "4.20.3", ""},
		{"4.16.9", "4.20.3", "problem"},
		{"4.21.0-rc.1", "4.20.3", "problem"},
		{"4.20.4", "4.20.3", "warning"},
		{"4.20.0-0.nightly-2026-01-02-030405", "4.20.0", ""},
		{"4.22.1", "5.0.1", ""},
		{"4.20.1", "5.0.1", ""},
		{"4.19.1", "5.0.1", "problem"},
		{"5.0.1", "4.22.1", "problem"},
		{"", "4.20.3", ""},
		{"4.20.3", "", ""},
	} {
		f := newFacts(t)
		f.NodePool.Status.Version, f.HostedCluster.Status.Version.History = test.pool, nil
		f.HostedCluster.Status.Version.Desired.Version = test.cluster
		got, _, _ := strings.Cut(summarize(f.Evaluate(now)), " ")
		if got != test.want {
			t.Errorf("NodePool %q, control plane %q: %q, want %q", test.pool, test.cluster, got, test.want)
		}
	}
}

// The API server sets spec.management.replace in every NodePool, so only the limit of the upgrade type counts.
func TestMaxUnavailable(t *testing.T) {
	const replace = `"replace": {"strategy": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": %s}}`
	for management, want := range map[string]string{
		`{"upgradeType": "Replace", ` + fmt.Sprintf(replace, "0") + `}`:                                       "0",
		`{"upgradeType": "Replace", ` + fmt.Sprintf(replace, `"10%"`) + `, "inPlace": {"maxUnavailable": 5}}`: "10%",
		`{"upgradeType": "InPlace", ` + fmt.Sprintf(replace, "0") + `}`:                                       "",
		`{"upgradeType": "InPlace", ` + fmt.Sprintf(replace, "0") + `, "inPlace": {}}`:                        "",
		`{"upgradeType": "InPlace", ` + fmt.Sprintf(replace, "0") + `, "inPlace": {"maxUnavailable": "25%"}}`: "25%",
		`{"upgradeType": "Replace", "replace": {"strategy": "OnDelete"}}`:                                     "",
	} {
		var m Management
		if err := json.Unmarshal([]byte(management), &m); err != nil {
			t.Fatal(err)
		}
		if got := m.MaxUnavailable(); got != want {
			t.Errorf("%s: %q, want %q", management, got, want)
		}
	}
}

// The stream of a release with only one is not reported.
func TestStream(t *testing.T) {
	const text = "the image of the hosts is of the stream "
	for _, test := range []struct{ release, stream, want string }{
		{"4.22.1", "", ""},
		{"4.22.1", "rhel-9", text + "rhel-9"},
		{"5.0.1", "", text + "rhel-10"},
		{"5.0.1", "rhel-9", text + "rhel-9"},
		{"", "", ""},
	} {
		f := newFacts(t)
		f.NodePool.Status.Version, f.NodePool.Spec.OSImageStream.Name = test.release, test.stream
		f.HostedCluster.Status.Version.History, f.HostedCluster.Status.Version.Desired.Version = nil, test.release
		got := summarize(f.Evaluate(f.Expires()))
		if strings.Contains(got, "note stream: "+text) != (test.want != "") || !strings.Contains(got, test.want) {
			t.Errorf("release %q, stream %q: %s", test.release, test.stream, got)
		}
	}
}
