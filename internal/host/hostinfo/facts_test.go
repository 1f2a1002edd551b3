// SPDX-License-Identifier: Apache-2.0

package hostinfo

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseEnv(t *testing.T) {
	content := `# comment=1
; also=2

PLAIN=value
  INDENTED = spaces around
DOUBLE="two words"
SINGLE='it is "quoted"'
EMPTY=
HALF="open
EQUALS=a=b=c
no assignment
LAST=first
LAST=second
CARRIAGE=return` + "\r\n"
	want := map[string]string{
		"PLAIN": "value", "INDENTED": "spaces around", "DOUBLE": "two words", "SINGLE": `it is "quoted"`, "EMPTY": "",
		"HALF": `"open`, "EQUALS": "a=b=c", "LAST": "second", "CARRIAGE": "return",
	}
	if diff := cmp.Diff(want, ParseEnv([]byte(content))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseOSRelease(t *testing.T) {
	for name, test := range map[string]struct {
		content string
		want    OSRelease
	}{
		"RHEL": {
			"NAME=\"Red Hat Enterprise Linux\"\nVERSION=\"9.4 (Plow)\"\nID=\"rhel\"\nID_LIKE=\"fedora\"\nVERSION_ID=\"9.4\"\n" +
				"PRETTY_NAME=\"Red Hat Enterprise Linux 9.4 (Plow)\"\n",
			OSRelease{ID: "rhel", Like: []string{"fedora"}, Version: "9.4", Name: "Red Hat Enterprise Linux 9.4 (Plow)"},
		},
		"CentOS Stream": {
			"ID=\"centos\"\nID_LIKE=\"rhel fedora\"\nVERSION_ID=\"9\"\n",
			OSRelease{ID: "centos", Like: []string{"rhel", "fedora"}, Version: "9"},
		},
		"Debian":  {"ID=debian\nVERSION_ID='12'\n", OSRelease{ID: "debian", Version: "12"}},
		"nothing": {"", OSRelease{}},
	} {
		t.Run(name, func(t *testing.T) {
			got := ParseOSRelease([]byte(test.content))
			if len(got.Like) == 0 {
				got.Like = nil
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSELinuxMode(t *testing.T) {
	for _, test := range []struct{ enforce, context, want string }{
		{"1", "unconfined_u:unconfined_r:unconfined_t:s0-s0:c0.c1023\x00", "enforcing"},
		{"0", "system_u:system_r:init_t:s0", "permissive"},
		{"", "", "disabled"},
		{"", "unconfined", "disabled"}, // AppArmor's
		{"0", "kernel\x00", "disabled"},
		{"1", "kernel", "disabled"},
		{"1", "", "disabled"},
	} {
		if got := selinuxMode(test.enforce, test.context); got != test.want {
			t.Errorf("selinuxMode(%q, %q) = %s, want %s", test.enforce, test.context, got, test.want)
		}
	}
}

// Facts of the machine that runs the test: those that every Linux has must be
// set.
func TestGatherFacts(t *testing.T) {
	facts, err := Gather(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if facts.OS.ID == "" || facts.Arch == "" || facts.Kernel == "" || facts.Hostname == "" || len(facts.BootID) != 36 ||
		facts.CPUs <= 0 || facts.MemoryKiB <= 0 || facts.DiskFree <= 0 {
		t.Errorf("facts are missing: %+v", facts)
	}
}
