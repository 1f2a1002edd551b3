// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An enabled unit is started with kubelet if it stays active; for other units that a boot would
// start, a note has the command.
func TestUnitsAreStartedOrNoted(t *testing.T) {
	const boot = "\n[Install]\nWantedBy=multi-user.target\n"
	for name, test := range map[string]struct {
		unit, contents string
		want           string
	}{
		"a service": {"own.service", "[Service]\nExecStart=/bin/a" + boot, "start"},
		"of the default target": {
			"own.service", "[Service]\nExecStart=/bin/a\n[Install]\nWantedBy=sockets.target default.target\n", "start",
		},
		"oneshot that remains": {
			"own.service", "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/a" + boot, "start",
		},
		"remains, in other word": {
			"own.service", "[Service]\nType=oneshot\nRemainAfterExit=true\nExecStart=/bin/a" + boot, "start",
		},
		"a timer":  {"own.timer", "[Timer]\nOnCalendar=daily\n[Install]\nWantedBy=timers.target\n", "start"},
		"a socket": {"own.socket", "[Socket]\nListenStream=1\n[Install]\nWantedBy=sockets.target\n", "start"},
		"a path":   {"own.path", "[Path]\nPathChanged=/etc" + boot, "start"},
		"oneshot":  {"own.service", "[Service]\nType=oneshot\nExecStart=/bin/a" + boot, "note"},
		"oneshot, not remaining": {
			"own.service", "[Service]\nType=oneshot\nRemainAfterExit=no\nExecStart=/bin/a" + boot, "note",
		},
		"of the host":  {"chronyd.service", "", "note"},
		"Open vSwitch": {"openvswitch.service", "", ""},
		"for kubelet": {
			"own.service", "[Service]\nExecStart=/bin/a\n[Install]\nRequiredBy=kubelet-dependencies.target\n", "",
		},
		"a target":           {"own.target", "[Unit]\nDescription=a" + boot, ""},
		"kubelet's clean-up": {"kubelet-cleanup.service", "[Service]\nType=oneshot\nExecStart=/bin/a" + boot, "rule"},
	} {
		contents := ""
		if test.contents != "" {
			contents = fmt.Sprintf(`,"contents":%q`, test.contents)
		}
		plan := adaptConfig(t, systemdConfig(fmt.Sprintf(`{"name":%q,"enabled":true%s}`, test.unit, contents)), nil)
		got := strings.Join(plan.StartUnits, " ")
		for _, note := range plan.Notes {
			if note.Subject == test.unit && note.Rule == "next-boot" {
				got += "note"
				if !strings.HasSuffix(note.Reason, ": systemctl restart "+test.unit) {
					t.Errorf("%s: %s", name, note)
				}
			}
		}
		want := map[string]string{"start": test.unit, "note": "note"}[test.want]
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if test.want == "rule" && ruleFor(plan, test.unit) != "report kubelet-cleanup" {
			t.Errorf("%s: notes %v", name, plan.Notes)
		}
	}
}
