// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/test/ignitiontest"
)

// The binaries that a payload runs come from its units and their scripts.
func TestCommandsComeFromUnitsAndScripts(t *testing.T) {
	script := ignitiontest.InlineContent("#!/bin/bash\n# nc is not called here\nversion=$(jq .version $FILE)\n" +
		"if ethtool -k x | grep -q off; then free -g|awk '{print}'; fi\n" +
		"code=$(timeout 2s nc -l x)\n/usr/local/bin/second.sh\n")
	second := ignitiontest.InlineContent("#!/bin/sh\nfor i in 1; do podman run x; done\n")
	for name, test := range map[string]struct {
		unit string
		want []string
	}{
		"its own command": {
			"[Service]\nExecStart=-/usr/bin/nmstatectl service\n[Install]\nWantedBy=a.target\n", []string{"nmstatectl"},
		},
		"a shell's script": {
			"[Service]\nExecStart=/bin/bash -c \" until /usr/bin/podman run; do sleep 5; done\"\n[Install]\nWantedBy=a.target\n",
			[]string{"podman"},
		},
		"a script and a second": {
			"[Service]\nExecStart=/bin/bash /usr/local/bin/first.sh\n[Install]\nWantedBy=a.target\n",
			[]string{"ethtool", "free", "jq", "nc", "podman"},
		},
		"of a unit without host": {"[Service]\nExecStart=/usr/bin/nmstatectl\n[Install]\nWantedBy=absent.service\n", nil},
		"a condition": {
			"[Unit]\nConditionPathExists=/run/ostree-booted\n[Service]\nExecStart=/usr/bin/nmstatectl\n[Install]\n" +
				"WantedBy=a.target\n", nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			payload := fmt.Sprintf(`{"ignition":{"version":"3.2.0"},"storage":{"files":[
				{"path":"/usr/local/bin/first.sh","mode":493,"contents":%s},{"path":"/usr/local/bin/second.sh","mode":493,"contents":%s}]},
				"systemd":{"units":[{"name":"own.service","enabled":true,"contents":%q}]}}`, script, second, test.unit)
			if diff := cmp.Diff(test.want, unusualCommands(adaptConfig(t, payload, nil), true)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// unusualCommands returns the commands of a plan that minimal installations lack.
func unusualCommands(plan *Plan, unit bool) []string {
	var names []string
	for _, c := range plan.Commands {
		if c.InUnit == unit && slices.Contains([]string{
			"jq", "nc", "nmstatectl", "podman", "ethtool", "free", "ipsec", "curl", "nmcli",
		}, c.Name) {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	return names
}

// On a hosted cluster, the agent replaces most units of the payload. On a standalone cluster,
// all units run.
func TestCommandsOfRealPayloads(t *testing.T) {
	for _, name := range ignitiontest.RealPayloads(t, "worker-*.ign") {
		base := strings.TrimSuffix(filepath.Base(name), ".ign")
		if strings.HasSuffix(base, "-aws") {
			continue
		}
		p, in := ignitiontest.LoadRealPayload(t, name), rhelHost()
		hosted, standalone := []string{"free", "jq"}, []string{"free", "jq", "nc", "nmstatectl", "podman"}
		if base == "worker-4.16" {
			hosted, standalone = hosted[:1], []string{"free", "nc", "nmstatectl", "podman"}
		}
		for _, in.Hosted = range []bool{true, false} {
			plan, err := ToHost(p, in)
			if err != nil {
				t.Fatal(err)
			}
			want := standalone
			if in.Hosted {
				want = hosted
			}
			if diff := cmp.Diff(want, unusualCommands(plan, true)); diff != "" {
				t.Errorf("%s, hosted %t: units (-want +got):\n%s", base, in.Hosted, diff)
			}
			if got := unusualCommands(plan, false); !slices.Contains(got, "ethtool") {
				t.Errorf("%s: scripts of NetworkManager run %v", base, got)
			}
		}
	}
}
