// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/entries"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
)

var update = flag.Bool("update", false, "write the golden files again")

// plainHost returns a RHEL 9 host in package mode on which CRI-O is the only installed component
// of a node.
func plainHost() Input {
	has := []string{"basic.target", "network-online.target", "crio.service", "chronyd.service"}
	return Input{
		Facts:          hostinfo.Facts{OS: hostinfo.OSRelease{ID: "rhel", Version: "9.4"}, Arch: "amd64", CgroupV2: true},
		Hosted:         true,
		NodePool:       "clusters/demo-workers",
		HasUnit:        func(name string) bool { return slices.Contains(has, name) },
		UnitFileState:  func(string) string { return "enabled" },
		HasSysctl:      func(name string) bool { return name != "kernel.absent" },
		HasModule:      func(name string) bool { return name != "absent_module" },
		IsModuleLoaded: func(name string) bool { return name != "nf_conntrack" },
		Tree:           emptyTree{},
		User:           map[string]int{"root": 0, "openvswitch": 991},
	}
}

// emptyTree is a tree without any file of the payload.
type emptyTree struct{}

func (emptyTree) Lstat(string) (hostfs.Info, error) { return hostfs.Info{}, nil }
func (emptyTree) ReadFile(string) ([]byte, hostfs.Info, error) {
	return nil, hostfs.Info{}, fs.ErrNotExist
}
func (emptyTree) ReadDir(string) ([]string, error)                   { return nil, fs.ErrNotExist }
func (emptyTree) Walk(string, func(string, hostfs.Info) error) error { return nil }
func (emptyTree) Mounts(string) ([]string, error)                    { return nil, nil }
func (emptyTree) GuardLinks(string) *hostfs.LinkGuard                { return new(hostfs.LinkGuard) }

func workerPayload(t *testing.T) *ignition.Payload {
	t.Helper()
	raw, err := os.ReadFile("testdata/worker.ign")
	if err != nil {
		t.Fatal(err)
	}
	p, err := ignition.LoadPayload(raw)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The complete plan of a payload that contains every case.
func TestAdaptGolden(t *testing.T) {
	standalone := plainHost()
	standalone.Hosted, standalone.NodePool = false, ""
	image := plainHost()
	image.Facts.OSTree, image.Facts.OS.Variant = true, "coreos"
	for name, in := range map[string]Input{"hosted": plainHost(), "standalone": standalone, "image": image} {
		t.Run(name, func(t *testing.T) {
			plan, err := ToHost(workerPayload(t), in)
			if err != nil {
				t.Fatal(err)
			}
			checkGolden(t, "testdata/worker."+name+".plan", formatPlan(plan))
		})
	}
}

func TestDecideForImageGolden(t *testing.T) {
	in := plainHost()
	decision, _, err := ToImage(workerPayload(t), in.Tree, in.User, in.Group)
	if err != nil {
		t.Fatal(err)
	}
	preset, err := decision.Preset(func(string) (bool, error) { return false, nil })
	if err != nil {
		t.Fatal(err)
	}
	checkGolden(t, "testdata/worker.verbatim.plan", formatPlan(&Plan{Files: slices.Concat(decision.Changes, preset)}))
}

func checkGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, got, 0o644); err != nil { //nolint:gosec // a golden file
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got); go test -update writes it anew:\n%s", name, diff)
	}
}

// formatPlan returns a plan with the contents of the files that the agent adds.
func formatPlan(plan *Plan) []byte { return formatSections(plan, plan.Notes, formatChange) }

func formatChange(c ledger.Change) string {
	owner := ""
	if c.Desired.UID != nil && c.Desired.GID != nil && *c.Desired.UID+*c.Desired.GID != 0 {
		owner = fmt.Sprintf(" %d:%d", *c.Desired.UID, *c.Desired.GID)
	}
	keeps := ""
	if c.Kind == ledger.File && !c.Overwrite && c.Desired.Present {
		keeps = ", not over another"
	}
	text := fmt.Sprintf("  %s %s: %s%s%s (%s)\n", c.Kind, c.Target, c.Desired, owner, keeps, c.Reason)
	if c.Target == entries.PresetPath || strings.Contains(c.Target, "hcp-node-agent") {
		for line := range strings.Lines(string(c.Desired.Content)) {
			text += "    | " + line
		}
	}
	return text
}

// formatSections returns a plan as text, each change as format returns it.
func formatSections(plan *Plan, notes []Note, format func(ledger.Change) string) []byte {
	var out bytes.Buffer
	fmt.Fprintln(&out, plan.Summary())
	for _, section := range []struct {
		title   string
		changes []ledger.Change
	}{
		{"files", plan.Files},
		{"units", plan.Units},
		{"kubelet", plan.Kubelet},
		{"sysctls", plan.Sysctls},
		{"modules", plan.Modules},
	} {
		fmt.Fprintf(&out, "\n%s\n", section.title)
		for _, c := range section.changes {
			out.WriteString(format(c))
		}
	}
	fmt.Fprintf(&out, "\nnotes\n")
	for _, note := range notes {
		fmt.Fprintf(&out, "  %s\n", note)
	}
	fmt.Fprintf(&out, "\nmissing\n")
	for _, unit := range plan.MissingUnits {
		fmt.Fprintf(&out, "  %s\n", unit)
	}
	return out.Bytes()
}

func TestPlanEncodesAsJSON(t *testing.T) {
	plan, err := ToHost(workerPayload(t), plainHost())
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(encoded, []byte("api.demo.example.com")) {
		t.Error("a content is in the plan's JSON")
	}
	var back struct {
		NodePool string
		Files    []ledger.Change
	}
	if err := json.Unmarshal(encoded, &back); err != nil {
		t.Fatal(err)
	}
	if len(back.Files) != len(plan.Files) || back.NodePool != "clusters/demo-workers" {
		t.Errorf("the plan is not read back: %+v", back)
	}
}

// The same payload on the same host results in the same plan, so that two plans can be compared.
func TestAdaptIsDeterministic(t *testing.T) {
	p := workerPayload(t)
	first, err := ToHost(p, plainHost())
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		again, err := ToHost(p, plainHost())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first, again); diff != "" {
			t.Fatal(diff)
		}
	}
}

// Unsupported parts of a payload are reported before anything is written, all at once.
func TestAdaptRejectsUnsupportedPayloads(t *testing.T) {
	spec := func(sections string) string { return `{"ignition":{"version":"3.4.0"},` + sections + `}` }
	tests := []struct {
		name, config string
		want         []string
	}{
		{
			"disks",
			spec(`"storage":{"disks":[{"device":"/dev/sda"}],"raid":[{"name":"a","level":"raid1","devices":["/dev/sda"]}],"luks":[{"name":"a","device":"/dev/sda"}],"filesystems":[{"device":"/dev/sda","format":"xfs","path":"/var"}]}`),
			[]string{"storage.disks", "storage.raid", "storage.luks", "storage.filesystems"},
		},
		{
			"no file of the host",
			spec(`"storage":{"files":[{"path":"/proc/a"}],"directories":[{"path":"/sys"}],"links":[{"path":"/var/lib/hcp-node-agent/ledger.log","target":"/a"}]}`),
			[]string{"an entry at /proc/a", "an entry at /sys", "an entry at /var/lib/hcp-node-agent/ledger.log"},
		},
		{
			"slash in a unit",
			spec(`"systemd":{"units":[{"name":"../a.service"},{"name":"crio.service","dropins":[{"name":"../c.conf","contents":"[Unit]\n"}]}]}`),
			[]string{`unit "../a.service"`, `drop-in "../c.conf" of unit crio.service`},
		},
		{
			"unknown owner", spec(`"storage":{"files":[{"path":"/a","user":{"name":"nobody-here"}}]}`),
			[]string{`/a must belong to user "nobody-here"`},
		},
		{
			"unknown group", spec(`"storage":{"directories":[{"path":"/a","group":{"name":"nobody-here"}}]}`),
			[]string{`/a must belong to group "nobody-here"`},
		},
		{
			"bad kubelet.conf", spec(`"storage":{"files":[{"path":"` + ignition.KubeletConfigPath +
				`","contents":{"source":"data:,%09a"}}]}`), []string{"decoding the kubelet configuration"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p, err := ignition.LoadPayload([]byte(test.config))
			if err != nil {
				t.Fatal(err)
			}
			_, err = ToHost(p, plainHost())
			for _, want := range test.want {
				reporttest.CheckFailure(t, err, report.Usage, want)
			}
			if strings.Contains(err.Error(), "user core") {
				t.Errorf("too much is told: %v", err)
			}
		})
	}
}
