// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRemedySeparatesCommandAndNote(t *testing.T) {
	for name, test := range map[string]struct {
		remedy        Remedy
		command, note string
		lines         []string
		inline        string
	}{
		"nothing":   {"", "", "", nil, ""},
		"a command": {"swapoff -a", "swapoff -a", "", []string{"swapoff -a"}, "swapoff -a"},
		"a note": {
			"# correct the config", "", "correct the config", []string{"# correct the config"}, "correct the config",
		},
		"both": {
			"swapoff -a # until the next boot", "swapoff -a", "until the next boot",
			[]string{"# until the next boot", "swapoff -a"},
			"swapoff -a; until the next boot",
		},
		"several lines": {"a # one\n# two\nb\n", "a\nb", "one\ntwo", []string{"# one", "a", "# two", "b"}, "a; b; one; two"},
		"quoted": {
			`grep ' # ' "a # b" \# c#d # e`, `grep ' # ' "a # b" \# c#d`, "e",
			[]string{"# e", `grep ' # ' "a # b" \# c#d`},
			`grep ' # ' "a # b" \# c#d; e`,
		},
	} {
		if test.remedy.Command() != test.command || test.remedy.Note() != test.note {
			t.Errorf("%s: command %q, note %q of %q", name, test.remedy.Command(), test.remedy.Note(), test.remedy)
		}
		if got := test.remedy.Inline(); got != test.inline {
			t.Errorf("%s: inline %q, want %q", name, got, test.inline)
		}
		if diff := cmp.Diff(test.lines, test.remedy.Lines()); diff != "" {
			t.Errorf("%s: lines of %q (-want +got):\n%s", name, test.remedy, diff)
		}
	}
	encoded, err := json.Marshal(Remedy("swapoff -a # until the next boot"))
	if want := `{"command":"swapoff -a","note":"until the next boot"}`; err != nil || string(encoded) != want {
		t.Errorf("JSON %s, %v, want %s", encoded, err, want)
	}
}

func TestRemedyForImageMode(t *testing.T) {
	for remedy, want := range map[Remedy]Remedy{
		"swapoff -a # until the next boot": "swapoff -a # until the next boot",
		"dnf install cri-o 'openshift-kubelet-4.18.*' # in the rhocp repository": "# add to the image of this host, and " +
			"update the host to it: cri-o 'openshift-kubelet-4.18.*'",
		"grubby --update-kernel=ALL --args='hugepagesz=1G hugepages=4' --remove-args=nosmt # then reboot": "rpm-ostree " +
			"kargs --append-if-missing=hugepagesz=1G --append-if-missing=hugepages=4 --delete-if-present=nosmt # then reboot",
		"subscription-manager repos --enable=rhocp\ndnf install crun": "# add to the image of this host, and update the " +
			"host to it: crun",
	} {
		if got := remedy.ForImageMode(); got != want {
			t.Errorf("%q becomes %q, want %q", remedy, got, want)
		}
	}
}

// Commands are edited without their notes.
func TestRemedyEditCommands(t *testing.T) {
	for remedy, want := range map[Remedy]Remedy{
		"oc get csr # 'it'":        "<oc get csr> # 'it'",
		"# the note of:\noc get a": "# the note of:\n<oc get a>",
		"# a note":                 "# a note",
		"":                         "",
	} {
		if got := remedy.EditCommands(func(command string) string { return "<" + command + ">" }); got != want {
			t.Errorf("%q becomes %q, want %q", remedy, got, want)
		}
	}
}

func TestChangeRemedies(t *testing.T) {
	document := struct {
		Findings []Finding
		CommandResult
		unexported Remedy
		None       *Finding
		Any        any
	}{
		Findings:      []Finding{{Remedy: "a", Message: "a"}},
		CommandResult: CommandResult{Remedy: "b", Causes: []Problem{{Remedy: "c"}}},
		unexported:    "d",
	}
	ChangeRemedies(reflect.ValueOf(&document), func(remedy Remedy) Remedy { return remedy + "!" })
	if got := document.Findings[0].Remedy + document.Remedy + document.Causes[0].Remedy; got != "a!b!c!" ||
		document.Findings[0].Message != "a" || document.unexported != "d" {
		t.Errorf("%+v", document)
	}
}
