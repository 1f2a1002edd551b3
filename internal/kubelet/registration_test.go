// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
)

var update = flag.Bool("update", false, "write the golden files again")

// newUnit returns kubelet's unit as in the releases, without irrelevant flags. labels differ between releases.
func newUnit(labels string) string {
	return `[Unit]
Requires=crio.service kubelet-dependencies.target

[Service]
Type=notify
Environment="KUBELET_NODE_IP=0.0.0.0" "KUBELET_LOG_LEVEL=2"
EnvironmentFile=/etc/os-release
EnvironmentFile=-/etc/kubernetes/kubelet-env

ExecStart=/usr/local/bin/kubenswrapper \
    /usr/bin/kubelet \
      --config=/etc/kubernetes/kubelet.conf \
      ` + labels + `--node-ip=${KUBELET_NODE_IP} \
      --cloud-provider= \
       \
      --hostname-override=${KUBELET_NODE_NAME} \
      --v=${KUBELET_LOG_LEVEL}

Restart=always

[Install]
WantedBy=multi-user.target
`
}

const (
	nodeLabels   = "--node-labels=node-role.kubernetes.io/worker,node.openshift.io/os_id=${ID}"
	plainLabels  = nodeLabels + " \\\n      "
	hookedLabels = nodeLabels + ",${CUSTOM_KUBELET_LABELS} \\\n      "
)

// readerOf returns a function that reads the files of a host by path.
func readerOf(content map[string]string) func(string) ([]byte, bool) {
	return func(path string) ([]byte, bool) {
		text, found := content[path]
		return []byte(text), found
	}
}

// unitVariants returns the kinds of kubelet units.
func unitVariants() map[string]UnitFiles {
	release := map[string]string{"/etc/os-release": "ID=\"rhel\"\n"}
	with := func(path, content string) map[string]string {
		return map[string]string{"/etc/os-release": release["/etc/os-release"], path: content}
	}
	return map[string]UnitFiles{
		"without-hook": {Unit: newUnit(plainLabels), File: readerOf(release), DropIns: map[string]string{
			"20-logging.conf": "[Service]\nEnvironment=\"KUBELET_LOG_LEVEL=2\"\n", "10-mco-default-env.conf": "",
		}},
		"with-hook": {Unit: newUnit(hookedLabels), File: readerOf(release)},
		"hook-is-taken": {
			Unit: newUnit(hookedLabels), File: readerOf(release),
			DropIns: map[string]string{"20-nodenet.conf": "[Service]\nEnvironment=\"KUBELET_NODE_IP=192.0.2.7\" " +
				"\"CUSTOM_KUBELET_LABELS=node.openshift.io/remote-worker\"\n"},
		},
		"hook-in-a-file": {
			Unit: newUnit(hookedLabels),
			File: readerOf(with("/etc/kubernetes/kubelet-env", "CUSTOM_KUBELET_LABELS=site=a\n")),
		},
		"no-labels": {Unit: newUnit(""), File: readerOf(release)},
		"one-line": {Unit: "[Service]\nExecStart=-/usr/bin/kubelet --node-labels= " +
			"--register-with-taints=old=1:NoSchedule,team=red:NoSchedule,x=${X}:NoExecute\n"},
		"quoted":     {Unit: "[Service]\nExecStart=/usr/bin/kubelet \"--node-labels=a=1,b=2\" --v 2\n"},
		"ends-empty": {Unit: "[Service]\nExecStart=/usr/bin/kubelet --node-labels=a=\n"},
		"configured-taints": {Unit: newUnit(plainLabels), File: readerOf(with("/etc/kubernetes/kubelet.conf",
			"kind: KubeletConfiguration\nregisterWithTaints:\n- {key: node-role.kubernetes.io/infra, effect: "+
				"NoSchedule}\n- {key: team, value: red, effect: NoSchedule}\n"))},
		"another-start": {
			Unit: newUnit(plainLabels), File: readerOf(release),
			DropIns: map[string]string{"25-site.conf": "[Service]\nExecStart=\nExecStart=/opt/kubelet --node-labels=site=a " +
				"--config=/etc/kubernetes/kubelet.conf\n"},
		},
	}
}

func desiredRegistration(t *testing.T, taints ...string) Registration {
	t.Helper()
	r, err := NewRegistration([]string{"zone=b", "example.com/rack=7"}, taints, "clusters/demo-workers")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The drop-in for every kind of unit, with labels alone and with taints, and
// the Node that kubelet then requests.
func TestRegistrationDropIn(t *testing.T) {
	for name, launch := range unitVariants() {
		for suffix, r := range map[string]Registration{
			"labels": desiredRegistration(t),
			"taints": desiredRegistration(t, "team=blue:NoSchedule", "quiet:PreferNoSchedule"),
		} {
			t.Run(name+"/"+suffix, func(t *testing.T) {
				content, err := r.RenderDropIn(launch)
				if err != nil {
					t.Fatal(err)
				}
				golden := filepath.Join("testdata", "registration", name+"."+suffix+".conf")
				if *update {
					if err := os.WriteFile(golden, []byte(content), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(golden)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want), content); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				checkRequestedNode(t, r, launch, content)
			})
		}
	}
}

// checkRequestedNode compares the Node that kubelet requests with its Node without the
// drop-in, and with the desired labels and taints.
func checkRequestedNode(t *testing.T, r Registration, launch UnitFiles, content string) {
	t.Helper()
	before, err := RegistrationCheck{UnitFiles: launch, Arch: "amd64"}.ExpectedNode("worker-1")
	if err != nil {
		t.Fatal(err)
	}
	after, err := RegistrationCheck{
		UnitFiles: launch.withDropIn(RegistrationDropIn, content),
		Arch:      "amd64",
	}.ExpectedNode("worker-1")
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range r.Labels {
		before.Labels[key] = value
	}
	if diff := cmp.Diff(before.Labels, after.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	for _, taint := range r.Taints {
		n := 0
		for _, found := range after.Spec.Taints {
			if found.Key == taint.Key && found.Effect == taint.Effect {
				n++
			}
		}
		if n != 1 {
			t.Errorf("taint %s is %d times in %v", taint, n, after.Spec.Taints)
		}
	}
	for _, taint := range before.Spec.Taints {
		if !strings.Contains(taintsOf(after), taint.Key) {
			t.Errorf("taint %s is lost: %s", taint.ToString(), taintsOf(after))
		}
	}
}

func taintsOf(node *corev1.Node) string {
	var all []string
	for _, taint := range node.Spec.Taints {
		all = append(all, taint.ToString())
	}
	return strings.Join(all, ",")
}

func TestRegistrationDropInErrors(t *testing.T) {
	tests := map[string]struct {
		launch UnitFiles
		want   string
	}{
		"no unit": {UnitFiles{}, "has 0 ExecStart= lines"},
		"two starts": {
			UnitFiles{Unit: "[Service]\nExecStart=/usr/bin/kubelet\nExecStart=/usr/bin/kubelet\n"},
			"has 2 ExecStart= lines",
		},
		"a shell": {
			UnitFiles{Unit: "[Service]\nExecStart=/bin/sh -c 'exec /usr/bin/kubelet --v=2'\n"},
			"does not start kubelet directly",
		},
		"a later start": {UnitFiles{
			Unit:    newUnit(plainLabels),
			DropIns: map[string]string{"99-site.conf": "[Service]\nExecStart=\nExecStart=/opt/kubelet\n"},
		}, "drop-in 99-site.conf of its unit sets ExecStart="},
		"a later hook": {UnitFiles{
			Unit:    newUnit(hookedLabels),
			DropIns: map[string]string{"99-site.conf": "[Service]\nEnvironment=CUSTOM_KUBELET_LABELS=a=b\n"},
		}, "drop-in 99-site.conf of its unit sets Environment="},
		"a later reset": {UnitFiles{
			Unit:    newUnit(hookedLabels),
			DropIns: map[string]string{"99-site.conf": "[Service]\nEnvironment=\n"},
		}, "sets Environment="},
		"a broken unit": {UnitFiles{Unit: "[Service"}, "has 0 ExecStart= lines"},
	}
	for name, test := range tests {
		_, err := desiredRegistration(t).RenderDropIn(test.launch)
		code := report.CodeOf(err)
		if err == nil || !strings.Contains(err.Error(), test.want) || (code != report.Refused && code != report.Usage) {
			t.Errorf("%s: DropIn() = %v (code %d), want %q", name, err, code, test.want)
		}
	}
	later := UnitFiles{
		Unit:    newUnit(hookedLabels),
		DropIns: map[string]string{"99-site.conf": "[Service]\nEnvironment=OTHER=1\nRestartSec=5\n"},
	}
	if _, err := desiredRegistration(t).RenderDropIn(later); err != nil {
		t.Errorf("a later drop-in about something else is in the way: %v", err)
	}
	if content, err := (Registration{}).RenderDropIn(UnitFiles{}); content != "" || err != nil {
		t.Errorf("RenderDropIn() of nothing = %q, %v", content, err)
	}
}

func TestNewRegistration(t *testing.T) {
	tests := map[string]struct {
		labels, taints []string
		nodePool       string
		want           string
	}{
		"nothing":               {},
		"the NodePool's":        {nodePool: "clusters/demo", want: "labels hypershift.openshift.io/nodePool=demo"},
		"a name that is longer": {nodePool: "clusters/" + strings.Repeat("x", 64)},
		"a person's wins": {
			labels: []string{NodePoolLabel + "=mine"}, nodePool: "clusters/demo",
			want: "labels hypershift.openshift.io/nodePool=mine",
		},
		"the later wins": {
			labels: []string{"a=1", "a=2"},
			taints: []string{
				"t=1:NoSchedule", "t=2:NoExecute",
				"t=3:NoSchedule",
			}, want: "labels a=2; taints t=2:NoExecute, t=3:NoSchedule",
		},
	}
	for name, test := range tests {
		r, err := NewRegistration(test.labels, test.taints, test.nodePool)
		if err != nil || r.String() != test.want || (len(r.Labels)+len(r.Taints) == 0) != (test.want == "") {
			t.Errorf("%s: %q, %v; want %q", name, r, err, test.want)
		}
	}
	for _, bad := range [][2][]string{{{"a"}, nil}, {nil, {"a"}}} {
		if _, err := NewRegistration(bad[0], bad[1], ""); report.CodeOf(err) != report.Usage {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

func TestReportMissingLabelsAndTaints(t *testing.T) {
	r := RegistrationCheck{Desired: desiredRegistration(t, "team=blue:NoSchedule"), FirstJoin: true}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name:   "worker-1",
		Labels: map[string]string{"zone": "a", NodePoolLabel: "demo-workers"},
	}}
	var recorded reporttest.Recorder
	r.reportMissing(node, recorded.Log())
	const want = "Node worker-1 was registered before, without label example.com/rack=7, label zone=b (it has zone=a), " +
		"taint team=blue:NoSchedule; kubelet sets them only when it creates the Node\n" +
		"oc label node worker-1 --overwrite example.com/rack=7 zone=b; oc adm taint node worker-1 --overwrite " +
		"team=blue:NoSchedule # on the hosted cluster\n"
	if recorded.Text() != want {
		t.Errorf("said %q\nwant %q", recorded.Text(), want)
	}

	var again reporttest.Recorder
	node.Labels["zone"], node.Labels["example.com/rack"] = "b", "7"
	r.FirstJoin = false // the taint was removed in the meantime
	if r.reportMissing(node, again.Log()); again.Text() != "" {
		t.Errorf("said %q of a Node that has all", again.Text())
	}
}
