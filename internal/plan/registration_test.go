// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/adapt"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/ignitiontest"
)

const (
	units       = "/etc/systemd/system/kubelet.service"
	kubeletUnit = "[Service]\nEnvironmentFile=/etc/os-release\nExecStart=/usr/bin/kubelet " +
		"--config=/etc/kubernetes/kubelet.conf --node-labels=node.openshift.io/os_id=${ID}\n"
)

func plannedUnit(content string) ledger.Change {
	return ledger.Change{Kind: ledger.File, Target: units, Desired: ledger.FileState([]byte(content), 0o644)}
}

// plannedSession returns a session with the plan that joins the NodePool, on a host
// with the files.
func plannedSession(t *testing.T, files map[string]string, plan ...ledger.Change) (*Session, *Plan) {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		target := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o750); err != nil {
			t.Fatal(err)
		}
		var err error
		if link, is := strings.CutPrefix(content, "-> "); is {
			err = os.Symlink(link, target)
		} else {
			err = os.WriteFile(target, []byte(content), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	tree, err := hostfs.OpenTree(root)
	if err != nil {
		t.Fatal(err)
	}
	book, err := ledger.Open(t.TempDir(), ledger.Drivers{Paths: &ledger.Paths{Tree: tree}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { book.Close(); tree.Close() })
	return &Session{
			Run:  &Run{State: joinstate.State{Hosted: true, NodePool: "clusters/demo-workers"}},
			Host: machine.Reader{Files: tree, Ledger: book, Facts: hostinfo.Facts{Arch: "amd64"}},
		}, &Plan{
			Plan: &adapt.Plan{Files: plan},
		}
}

// plannedDropIn returns the planned content of the drop-in, "" if none is planned.
func plannedDropIn(p *Plan) string {
	content := ""
	for _, change := range p.Files {
		if change.Target == registrationPath {
			content = string(change.Desired.Content)
		}
	}
	return content
}

func TestRegistrationIsPlanned(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		plan  []ledger.Change
		join  func(*Session)
		want  string // part of the drop-in; "" if there must be none
		note  string
		fails string
	}{
		"the NodePool's label": {
			plan: []ledger.Change{plannedUnit(kubeletUnit)},
			want: "--node-labels=node.openshift.io/os_id=${ID},hypershift.openshift.io/nodePool=demo-workers\n",
			note: "labels hypershift.openshift.io/nodePool=demo-workers",
		},
		"a label of that name is a person's": {
			plan: []ledger.Change{plannedUnit(kubeletUnit)},
			join: func(s *Session) {
				s.Run.Config = config.Join{Labels: []string{"hypershift.openshift.io/nodePool=mine"}}
			},
			want: "${ID},hypershift.openshift.io/nodePool=mine\n", note: "nodePool=mine",
		},
		"not on a standalone cluster": {
			plan: []ledger.Change{plannedUnit(kubeletUnit)},
			join: func(s *Session) { s.Run.State.Hosted = false },
		},
		"a ledger that cannot be read, for the diagnostics": {
			plan: []ledger.Change{plannedUnit(kubeletUnit)},
			join: func(s *Session) { s.Run.State.Hosted, s.Host.Ledger = false, nil },
		},
		"drop-ins of the plan and the host": {
			files: map[string]string{
				units +
					".d/20-nodenet.conf": "[Service]\nEnvironment=\"CUSTOM_KUBELET_LABELS=node.openshift.io/remote-worker\"\n",
				"/usr/lib/systemd/system/kubelet.service.d/10-start.conf": "[Service]\nExecStart=\n",
				units + ".d/10-start.conf":                                "-> /dev/null",
				"/run/systemd/system/kubelet.service.d/15-more.conf":      "[Service]\nEnvironment=MORE=1\n",
				registrationPath: "[Service]\nEnvironment=CUSTOM_KUBELET_LABELS=old=label\n",
			},
			plan: []ledger.Change{plannedUnit(strings.ReplaceAll(kubeletUnit, "${ID}", "${ID},${CUSTOM_KUBELET_LABELS}"))},
			want: "Environment=\"CUSTOM_KUBELET_LABELS=node.openshift.io/remote-worker," +
				"hypershift.openshift.io/nodePool=demo-workers\"\n",
			note: "nodePool",
		},
		"a unit that leaves no way, not requested": {
			files: map[string]string{units + ".d/99-site.conf": "[Service]\nExecStart=\nExecStart=/usr/bin/kubelet\n"},
			plan:  []ledger.Change{plannedUnit(kubeletUnit)},
			note:  "drop-in 99-site.conf of its unit sets ExecStart=",
		},
		"a unit that leaves no way, requested": {
			files: map[string]string{units + ".d/99-site.conf": "[Service]\nExecStart=\nExecStart=/usr/bin/kubelet\n"},
			plan:  []ledger.Change{plannedUnit(kubeletUnit)},
			join:  func(s *Session) { s.Run.Config = config.Join{Taints: []string{"a=b:NoSchedule"}} },
			fails: "drop-in 99-site.conf of its unit sets ExecStart=",
		},
		"that drop-in is removed by the plan": {
			files: map[string]string{units + ".d/99-site.conf": "[Service]\nExecStart=\nExecStart=/usr/bin/kubelet\n"},
			plan:  []ledger.Change{plannedUnit(kubeletUnit), {Kind: ledger.File, Target: units + ".d/99-site.conf"}},
			want:  "nodePool=demo-workers", note: "nodePool",
		},
		"a NodePool that cannot be a label": {
			plan: []ledger.Change{plannedUnit(kubeletUnit)},
			join: func(s *Session) { s.Run.State.NodePool = "clusters/" + strings.Repeat("x", 64) },
			note: "is not a valid label value",
		},
		"no unit at all": {note: "0 ExecStart= lines"},
	} {
		t.Run(name, func(t *testing.T) {
			s, p := plannedSession(t, test.files, test.plan...)
			if test.join != nil {
				test.join(s)
			}
			err := registrationBuilder(t, s).planRegistration(p)
			if (err == nil) != (test.fails == "") || (err != nil &&
				(!strings.Contains(err.Error(), test.fails) || report.CodeOf(err) != report.Refused)) {
				t.Fatalf("planRegistration() = %v (code %d), want %q", err, report.CodeOf(err), test.fails)
			}
			if got := plannedDropIn(p); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("the drop-in is %q, want %q", got, test.want)
			}
			notes := ""
			for _, note := range p.Notes {
				notes += note.String() + "\n"
			}
			if (notes == "") != (test.note == "") || !strings.Contains(notes, test.note) {
				t.Errorf("the plan notes %q, want %q", notes, test.note)
			}
		})
	}
}

// A host that restricts the umask of all services gets a drop-in that sorts after that of the host.
func TestUmaskIsPlanned(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		want  int
	}{
		"not restricted": {nil, 0},
		"restricted":     {map[string]string{"/etc/systemd/system/service.d/99-umask.conf": "[Service]\nUMask=0077\n"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := plannedSession(t, test.files)
			payload, err := ignition.LoadPayload([]byte(`{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/a",
				"contents":` + ignitiontest.InlineContent("a") + `}]}}`))
			flowtest.NoError(t, err)
			facts := Facts{Files: s.Host.Files, UnitState: func(string) systemd.UnitState { return systemd.UnitState{} }}
			facts.Host.Hostname = "worker-0"
			p, err := Build(facts, payload, Settings{Config: config.Join{PauseImage: "registry.example.com/pause"}})
			flowtest.NoError(t, err)
			isUmask := func(c ledger.Change) bool { return c.Target == umaskPath }
			if n := lists.Count(p.Files, isUmask); n != test.want || path.Base(umaskPath) <= "99-umask.conf" {
				t.Errorf("the plan has %s %d times, want %d: %+v", umaskPath, n, test.want, p.Files)
			}
		})
	}
}

// Labels that are no longer configured must be removed by the next join.
func TestRegistrationIsRemoved(t *testing.T) {
	s, p := plannedSession(t, nil, plannedUnit(kubeletUnit))
	book := s.Host.Ledger.(*ledger.Ledger) //nolint:forcetypeassert // plannedSession has opened it
	if err := registrationBuilder(t, s).planRegistration(p); err != nil {
		t.Fatal(err)
	}
	if _, err := book.Apply(t.Context(), "files", p.Files); err != nil {
		t.Fatal(err)
	}
	s.Run.State.Hosted = false
	p.Files = []ledger.Change{plannedUnit(kubeletUnit)}
	if err := registrationBuilder(t, s).planRegistration(p); err != nil {
		t.Fatal(err)
	}
	made, err := book.Apply(t.Context(), "files", p.Files)
	if err != nil || len(made) != 1 || made[0].Target != registrationPath {
		t.Errorf("Apply() = %+v, %v; want the drop-in removed", made, err)
	}
	if _, found := hostfs.ReadFollowing(s.Host.Files, registrationPath); found {
		t.Error("the drop-in is still there")
	}
}

// The dry run must submit the Node that kubelet will submit: with the agent's
// drop-in and the planned environment.
func TestRegisteredNodeIsAsPlanned(t *testing.T) {
	s, p := plannedSession(t, map[string]string{
		"/usr/lib/os-release": "ID=\"rhel\"\n",
		"/etc/os-release":     "-> ../usr/lib/os-release",
	}, plannedUnit(kubeletUnit))
	s.Run.Config = config.Join{Labels: []string{"a=b"}, Taints: []string{"team=blue:NoSchedule"}}
	if err := registrationBuilder(t, s).planRegistration(p); err != nil {
		t.Fatal(err)
	}
	check, err := registrationBuilder(t, s).registrationCheck(p)
	if err != nil {
		t.Fatal(err)
	}
	node, err := check.ExpectedNode("worker-1")
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"a": "b", "hypershift.openshift.io/nodePool": "demo-workers", "node.openshift.io/os_id": "rhel",
		"kubernetes.io/hostname": "worker-1", "kubernetes.io/arch": "amd64",
	} {
		if got := node.Labels[key]; got != want {
			t.Errorf("label %s=%q, want %q", key, got, want)
		}
	}
	if len(node.Spec.Taints) != 1 || node.Spec.Taints[0].ToString() != "team=blue:NoSchedule" {
		t.Errorf("taints %v", node.Spec.Taints)
	}
}

// A resumed join keeps labels and taints.
func TestResumedJoinKeepsRegistration(t *testing.T) {
	earlier := joinstate.State{Config: config.Join{Labels: []string{"a=b"}, Taints: []string{"c:NoSchedule"}}}
	earlier.Started = earlier.Started.AddDate(1, 0, 0)
	settings := func(c config.Join) config.Join {
		r, err := request.Read(t.Context(), request.Options{Config: c}, earlier, request.SettingsOnly)
		if err != nil {
			t.Fatal(err)
		}
		return r.Config
	}
	if c := settings(config.Join{}); len(c.Labels) != 1 || len(c.Taints) != 1 {
		t.Errorf("a join that goes on has %v and %v", c.Labels, c.Taints)
	}
	if c := settings(config.Join{Labels: []string{"x=y"}}); len(c.Labels) != 1 || c.Labels[0] != "x=y" ||
		len(c.Taints) != 1 {
		t.Errorf("a join with others has %v and %v", c.Labels, c.Taints)
	}
	if c := settings(config.Join{UserData: "user-data.ign"}); len(c.Labels)+len(c.Taints) != 0 {
		t.Errorf("a join that begins anew has %v and %v", c.Labels, c.Taints)
	}
}

// registrationBuilder returns the builder of a plan for the host and the settings of s.
func registrationBuilder(t *testing.T, s *Session) builder {
	t.Helper()
	facts := Facts{Host: s.Host.Facts, Files: s.Host.Files}
	if s.Host.Ledger != nil {
		facts.Items = s.Host.Ledger.Items()
	}
	return builder{facts: facts, settings: s.Run.Settings()}
}
