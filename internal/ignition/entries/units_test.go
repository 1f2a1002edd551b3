// SPDX-License-Identifier: Apache-2.0

package entries

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/coreos/ignition/v2/config/util"
	"github.com/coreos/ignition/v2/config/v3_6/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

func TestUnits(t *testing.T) {
	const dirs = `d /etc 0755 0:0
		d /etc/systemd 0755 0:0
		d /etc/systemd/system 0755 0:0
		`
	for name, c := range map[string]scenario{
		"drop-ins and contents": {
			tree: `l /etc/systemd/system/a.service =/dev/null
				f /etc/systemd/system/a.service.d/10.conf 0600 5:6 =[Old]\n`,
			config: `{"systemd":{"units":[{"name":"a.service","contents":"[Service]\n","dropins":[{"name":"10.conf","contents":""},{"name":"20.conf"},{"name":"30.conf","contents":"[Unit]\n"}]},{"name":"b.service","contents":""}]}}`,
			want: []string{
				"file /etc/systemd/system/a.service.d/10.conf 0644 u0 g0 =",
				`file /etc/systemd/system/a.service.d/30.conf 0644 u0 g0 =[Unit]\n`,
				`file /etc/systemd/system/a.service 0644 u0 g0 =[Service]\n`,
			},
			after: dirs + `f /etc/systemd/system/a.service 0644 0:0 =[Service]\n
				d /etc/systemd/system/a.service.d 0755 0:0
				f /etc/systemd/system/a.service.d/10.conf 0644 0:0 =
				f /etc/systemd/system/a.service.d/30.conf 0644 0:0 =[Unit]\n`,
		},
		"a mask takes the place of contents, and of a tree": {
			tree: `f /etc/systemd/system/b.service/in =x
				l /etc/systemd/system/c.service =/dev/null
				l /etc/systemd/system/d.service =//dev/null`,
			config: `{"systemd":{"units":[{"name":"a.service","contents":"[Service]\n","mask":true},{"name":"b.service","mask":true},{"name":"c.service","mask":false},{"name":"d.service","mask":false}]}}`,
			want: []string{
				"no file /etc/systemd/system/b.service/in", "no directory /etc/systemd/system/b.service",
				"no link /etc/systemd/system/c.service",
				"link /etc/systemd/system/a.service u0 g0 -> /dev/null", "link /etc/systemd/system/b.service u0 g0 -> /dev/null",
			},
			after: dirs + `l /etc/systemd/system/a.service 0:0 =/dev/null
				l /etc/systemd/system/b.service 0:0 =/dev/null
				l /etc/systemd/system/d.service 0:0 =//dev/null`,
		},
		"an entry of the config that is masked in the end": {
			config: `{"storage":{"files":[{"path":"/etc/systemd/system/a.service","contents":{"source":"data:,x"}}]},"systemd":{"units":[{"name":"a.service","mask":true}]}}`,
			want:   []string{"link /etc/systemd/system/a.service u0 g0 -> /dev/null"},
			after:  dirs + `l /etc/systemd/system/a.service 0:0 =/dev/null`,
		},
		"a drop-in below a link of the config": {
			config: `{"storage":{"directories":[{"path":"/opt"}],"links":[{"path":"/etc/systemd/system/a.service.d","target":"/opt"}]},"systemd":{"units":[{"name":"a.service","dropins":[{"name":"1.conf","contents":"[Unit]\n"}]}]}}`,
			want: []string{
				"directory /opt 0755 u0 g0", "link /etc/systemd/system/a.service.d u0 g0 -> /opt",
				`file /opt/1.conf 0644 u0 g0 =[Unit]\n`,
			},
			after: dirs + `l /etc/systemd/system/a.service.d 0:0 =/opt
				d /opt 0755 0:0
				f /opt/1.conf 0644 0:0 =[Unit]\n`,
		},
		"preset lines are appended once, and only units that were enabled are listed as disabled": {
			tree:    `f /etc/systemd/system-preset/20-ignition.preset 0600 5:6 =enable a.service`,
			enabled: []string{"b.service"},
			config:  `{"systemd":{"units":[{"name":"t@2.service","enabled":true},{"name":"t@1.service","enabled":true},{"name":"a.service","enabled":true},{"name":"c.service","enabled":false},{"name":"b.service","enabled":false}]}}`,
			want: []string{
				`file /etc/systemd/system-preset/20-ignition.preset 0600 u5 g6 =enable a.service\ndisable b.service\nenable t@.service 2 1\n`,
			},
			after: `d /etc 0755 0:0
				d /etc/systemd 0755 0:0
				d /etc/systemd/system-preset 0755 0:0
				f /etc/systemd/system-preset/20-ignition.preset 0600 5:6 =enable a.service\ndisable b.service\nenable t@.service 2 1\n`,
		},
		"the preset file can be an entry, too": {
			config: `{"storage":{"files":[{"path":"/etc/systemd/system-preset/20-ignition.preset","contents":{"source":"data:,disable%20*%0A"}}]},"systemd":{"units":[{"name":"a.service","enabled":true}]}}`,
			want:   []string{`file /etc/systemd/system-preset/20-ignition.preset 0644 u0 g0 =disable *\nenable a.service\n`},
			after: `d /etc 0755 0:0
				d /etc/systemd 0755 0:0
				d /etc/systemd/system-preset 0755 0:0
				f /etc/systemd/system-preset/20-ignition.preset 0644 0:0 =disable *\nenable a.service\n`,
		},
		"on a host that joins the preset file is replaced, and links are systemd's": {
			runningHost: true,
			tree: `f /etc/systemd/system-preset/20-ignition.preset =enable b.service\n
				l /etc/systemd/system/x.target.wants/b.service =/usr/lib/systemd/system/b.service`,
			config: `{"systemd":{"units":[{"name":"a.service","enabled":true},{"name":"b.service","enabled":false}]}}`,
			want: []string{
				`file /etc/systemd/system-preset/20-ignition.preset 0644 u0 g0 =enable a.service\ndisable b.service\n`,
			},
			after: dirs + `d /etc/systemd/system-preset 0755 0:0
				f /etc/systemd/system-preset/20-ignition.preset 0644 0:0 =enable a.service\ndisable b.service\n
				d /etc/systemd/system/x.target.wants 0755 0:0
				l /etc/systemd/system/x.target.wants/b.service 0:0 =/usr/lib/systemd/system/b.service`,
		},
	} {
		t.Run(name, c.check)
	}
}

// The format and the order are those of Ignition.
func TestPresetLines(t *testing.T) {
	enabled, disabled := true, false
	unit := func(name string, enabled *bool) types.Unit { return types.Unit{Name: name, Enabled: enabled} }
	for name, c := range map[string]struct {
		units []types.Unit
		want  []string
	}{
		"none": {units: []types.Unit{unit("a.service", nil)}},
		"by unit, disabled before enabled": {
			units: []types.Unit{unit("b.service", &enabled), unit("a.service", &enabled), unit("a.service", &disabled)},
			want:  []string{"disable a.service", "enable a.service", "enable b.service"},
		},
		"instances in the config's order": {
			units: []types.Unit{unit("t@b.service", &enabled), unit("t@a.service", &enabled), unit("t@c.service", &disabled)},
			want:  []string{"disable t@.service c", "enable t@.service b a"},
		},
		"a template is an instance without a name": {
			units: []types.Unit{unit("t@.service", &enabled), unit("t@a.service", &enabled)},
			want:  []string{"enable t@.service  a"},
		},
		"the first at sign counts": {
			units: []types.Unit{unit("a@b@c.d.service", &enabled)},
			want:  []string{"enable a@.service b@c.d"},
		},
		"a template of another type": {
			units: []types.Unit{unit("t@a.socket", &enabled), unit("t@a.service", &enabled)},
			want:  []string{"enable t@.service a", "enable t@.socket a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, line := range presetLines(c.units) {
				got = append(got, line.String())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestHasLines(t *testing.T) {
	for name, c := range map[string]struct {
		text, lines string
		want        bool
	}{
		"the very end":                 {"ab", "b", true},
		"a whole line":                 {"a\nb\nc\n", "b\n", true},
		"the first line":               {"a\nb\n", "a", true},
		"a run of lines":               {"a\nb\nc\nd", "b\nc\n", true},
		"part of a line":               {"aba\n", "ab\n", false},
		"lines that are not together":  {"a\nx\nb\n", "a\nb\n", false},
		"the last line has no end":     {"a\nb", "b\n", true},
		"nothing is in nothing":        {"", "", true},
		"something is not in nothing":  {"", "a\n", false},
		"an empty line must be there":  {"a\nb\n", "\n", true},
		"an empty line in the middle":  {"a\n\nb", "\nb\n", true},
		"the end of a line, then more": {"xa\nb\n", "a\nb", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := hasLines([]byte(c.text), []byte(c.lines)); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestPresetOfProvisionedHost(t *testing.T) {
	const own = "enable a.service\n"
	for name, test := range map[string]struct {
		present string
		keep    bool
		want    string
	}{
		"no file":    {keep: true, want: own},
		"more units": {present: "enable agent.service\n" + own, keep: true, want: "enable agent.service\n" + own},
		"more units, of a host that is not provisioned": {
			present: "enable agent.service\n" + own, want: own + "enable b.service\n",
		},
		"other units": {present: "enable agent.service\n", keep: true, want: own},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			if test.present != "" {
				file := filepath.Join(root, PresetPath)
				err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o750), os.WriteFile(file, []byte(test.present), 0o600))
				if err != nil {
					t.Fatal(err)
				}
			}
			tree, err := hostfs.OpenTree(root)
			if err != nil {
				t.Fatal(err)
			}
			defer tree.Close()
			decision, err := Decide(Input{
				Units: []types.Unit{
					{Name: "a.service", Enabled: util.BoolToPtr(true)}, {Name: "b.service", Enabled: util.BoolToPtr(!test.keep)},
				}, Tree: tree, Provisioned: test.keep,
			})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, change := range decision.Changes {
				if change.Target == PresetPath {
					got = string(change.Desired.Content)
				}
			}
			if got != test.want {
				t.Errorf("preset file %q, want %q", got, test.want)
			}
		})
	}
}
