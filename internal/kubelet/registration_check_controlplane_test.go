// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package kubelet

import (
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/bed"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

func TestMain(m *testing.M) { os.Exit(kubetest.Run(m)) }

// bedLabels are labels of a unit that upstream's kubelet and API server accept.
// OpenShift's also accept node-role.kubernetes.io/worker.
const bedLabels = "--node-labels=node.openshift.io/os_id=${ID} \\\n      "

// newRegistrationCheck returns the check of a node in the test environment with these
// labels and taints.
func newRegistrationCheck(t *testing.T, labels, taints []string) *RegistrationCheck {
	t.Helper()
	registration, err := NewRegistration(labels, taints, "clusters/demo-workers")
	if err != nil {
		t.Fatal(err)
	}
	launch := UnitFiles{Unit: newUnit(bedLabels), File: readerOf(map[string]string{"/etc/os-release": "ID=\"rhel\"\n"})}
	content, err := registration.RenderDropIn(launch)
	if err != nil {
		t.Fatal(err)
	}
	return &RegistrationCheck{
		UnitFiles: launch.withDropIn(RegistrationDropIn, content),
		Desired:   registration,
		Arch:      "amd64",
		FirstJoin: true,
	}
}

// newConnection returns the connection of a node and what its log receives.
func newConnection(t *testing.T, name string) (*kube.Conn, *reporttest.Recorder) {
	t.Helper()
	return kubetest.Connect(t, kubetest.NodeKubeconfig(t, name)), &reporttest.Recorder{}
}

func TestControlPlaneRegistration(t *testing.T) {
	const name = "labelled"
	connection, recorded := newConnection(t, name)
	labels := []string{"example.com/rack=7", "topology.kubernetes.io/zone=b"}
	check := newRegistrationCheck(t, labels, []string{"team=blue:NoSchedule"})
	if err := check.Run(waittest.Context(t), connection, recorded.Log(), name, nil); err != nil {
		t.Fatalf("Run() = %v; printed:\n%s", err, recorded.Text())
	}
	nodes := kubetest.AdminClient(t).CoreV1().Nodes()
	if _, err := nodes.Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the dry run created the Node: %v", err)
	}

	// Create the checked Node with the node's own right, as kubelet does.
	expected, err := check.ExpectedNode(name)
	if err != nil {
		t.Fatal(err)
	}
	created, err := connection.Client.Nodes().Create(t.Context(), expected, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"example.com/rack":            "7",
		"topology.kubernetes.io/zone": "b",
		NodePoolLabel:                 "demo-workers",
		"node.openshift.io/os_id":     "rhel",
		"kubernetes.io/hostname":      name,
	} {
		if created.Labels[key] != want {
			t.Errorf("label %s=%q, want %q", key, created.Labels[key], want)
		}
	}
	if !strings.Contains(taintsOf(created), "team=blue:NoSchedule") {
		t.Errorf("taints %s", taintsOf(created))
	}

	// Another run finds the Node, and what it lacks of a different desired state.
	check = newRegistrationCheck(t, []string{"example.com/rack=8"}, []string{"team=blue:NoSchedule", "quiet:NoExecute"})
	if err := check.Run(waittest.Context(t), connection, recorded.Log(), name, created); err != nil {
		t.Errorf("Run() with an existing Node = %v", err)
	}
	for _, want := range []string{
		"Node labelled was registered before, without label example.com/rack=8 (it has example.com/rack=7), taint " +
			"quiet:NoExecute;",
		"oc label node labelled --overwrite example.com/rack=8; oc adm taint node labelled --overwrite " +
			"quiet:NoExecute ",
	} {
		if !strings.Contains(recorded.Text(), want) {
			t.Errorf("printed:\n%s\nwant %q", recorded.Text(), want)
		}
	}
}

func TestControlPlaneRejectedRegistration(t *testing.T) {
	const name, label = "restricted", "team.node-restriction.kubernetes.io/secret=yes"
	connection, recorded := newConnection(t, name)
	run := func(labels []string, existing *corev1.Node) error {
		return newRegistrationCheck(t, labels, nil).Run(waittest.Context(t), connection, recorded.Log(), name,
			existing)
	}
	err := run([]string{label, "a=b"}, nil)
	const want = `nodes "restricted" is forbidden: node "restricted" is not allowed to set the following labels: ` +
		"team.node-restriction.kubernetes.io/secret"
	if report.CodeOf(err) != report.Refused || !strings.Contains(err.Error(), want) {
		t.Errorf("Run() = %v (code %d)", err, report.CodeOf(err))
	}
	const remedy = "# join without --node-label " + label +
		"; when the Node exists, run on the hosted cluster:\noc label node restricted " + label
	if report.RemedyOf(err) != remedy {
		t.Errorf("the remedy is %q\nwant %q", report.RemedyOf(err), remedy)
	}
	if err := run([]string{"a=b"}, nil); err != nil {
		t.Errorf("Run() without the label = %v", err)
	}

	// For an existing Node a rejection is logged and is not an error.
	existing := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := run([]string{label}, existing); err != nil ||
		!strings.Contains(recorded.Text(), "the cluster would reject a new registration of this Node: ") {
		t.Errorf("Run() = %v; printed:\n%s", err, recorded.Text())
	}

	// A label from the payload's unit cannot be excluded by the administrator.
	unit := newRegistrationCheck(t, nil, nil)
	unit.UnitFiles.Unit = strings.ReplaceAll(newUnit(bedLabels), "os_id=${ID}", "os_id=${ID},kubernetes.io/site=a")
	unit.UnitFiles.DropIns = nil
	err = unit.Run(waittest.Context(t), connection, recorded.Log(), name, nil)
	if report.CodeOf(err) != report.Refused || !strings.Contains(string(report.RemedyOf(err)), "systemctl cat kubelet") {
		t.Errorf("Run() = %v (%s)", err, report.RemedyOf(err))
	}
}

// The message of an administrator's own policy is shown unchanged.
func TestControlPlaneRegistrationRejectedByPolicy(t *testing.T) {
	policies := kubetest.AdminClient(t).AdmissionregistrationV1()
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "no-purple"},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{
				ResourceRules: []admissionv1.NamedRuleWithOperations{
					{RuleWithOperations: admissionv1.RuleWithOperations{
						Operations: []admissionv1.OperationType{admissionv1.Create},
						Rule: admissionv1.Rule{
							APIGroups: []string{""}, APIVersions: []string{"v1"},
							Resources: []string{"nodes"},
						},
					}},
				},
			},
			Validations: []admissionv1.Validation{{
				Expression: "!has(object.spec.taints) || !object.spec.taints.exists(t, t.key == 'team' && t.value == " +
					"'purple')", Message: "the purple team has no nodes",
			}},
		},
	}
	if _, err := policies.ValidatingAdmissionPolicies().Create(t.Context(), policy,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "no-purple"},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName:        "no-purple",
			ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
	if _, err := policies.ValidatingAdmissionPolicyBindings().Create(t.Context(), binding,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	purple := corev1.Taint{Key: "team", Value: "purple", Effect: corev1.TaintEffectNoSchedule}
	waittest.Until(t, "waiting for the policy to be in effect", func() (any, bool) {
		_, err := kubetest.AdminClient(t).CoreV1().Nodes().Create(t.Context(),
			&corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: "probe"},
				Spec:       corev1.NodeSpec{Taints: []corev1.Taint{purple}},
			},
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err, err != nil
	})
	connection, printed := newConnection(t, "purple")
	check := newRegistrationCheck(t, []string{"a=b"}, []string{"team=purple:NoSchedule"})
	err := check.Run(waittest.Context(t), connection, printed.Log(), "purple", nil)
	if report.CodeOf(err) != report.Refused || !strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'no-purple' "+
		"with binding 'no-purple' denied request: the purple team has no nodes") ||
		!strings.Contains(string(report.RemedyOf(err)), "--node-taint team=purple:NoSchedule") {
		t.Errorf("Obtain() = %v (code %d, %s)", err, report.CodeOf(err), report.RemedyOf(err))
	}
}

// kubelet's own parsing and validation of its flags accepts every drop-in.
// kubelet exits before it does anything, because its configuration does not
// exist.
func TestControlPlaneKubeletAcceptsDropIn(t *testing.T) {
	bin, err := bed.Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	start := func(launch UnitFiles) string {
		settings, err := launch.parseSettings()
		if err != nil {
			t.Fatal(err)
		}
		command, err := settings.kubeletCommand()
		if err != nil {
			t.Fatal(err)
		}
		var arguments []string
		begun := false
		for _, word := range systemd.SplitWords(command) {
			if begun {
				arguments = append(arguments, expandVariables(word, settings.environment))
			}
			begun = begun || path.Base(word) == "kubelet"
		}
		arguments = append(arguments, "--config="+filepath.Join(t.TempDir(), "none"), "--v=0")
		output, err := exec.CommandContext(t.Context(), filepath.Join(bin, "kubelet"), arguments...).CombinedOutput()
		if err == nil {
			t.Fatalf("kubelet has ended well: %s", output)
		}
		return string(output)
	}
	all := maps.Clone(unitVariants())
	all["bed"] = UnitFiles{Unit: newUnit(bedLabels)}
	for name, launch := range all {
		// only OpenShift's kubelet accepts it
		launch.Unit = strings.ReplaceAll(launch.Unit, "node-role.kubernetes.io/worker,", "")
		launch.Unit = strings.ReplaceAll(launch.Unit, ",x=${X}:NoExecute", "")
		content, err := desiredRegistration(t, "team=blue:NoSchedule", "quiet:PreferNoSchedule").RenderDropIn(launch)
		if err != nil {
			t.Fatal(err)
		}
		if recorded := start(launch.withDropIn(RegistrationDropIn, content)); !strings.Contains(recorded,
			"failed to load kubelet config file") {
			t.Errorf("%s: kubelet does not take drop-in: %s", name, recorded)
		}
	}
	for bad, want := range map[string]string{
		"--node-labels=kubernetes.io/site=a ":      "unknown 'kubernetes.io' or 'k8s.io' labels",
		"--register-with-taints=team=blue:Never ":  "invalid taint",
		"--node-labels=a=b --register-with-taint ": "unknown flag",
	} {
		if recorded := start(UnitFiles{Unit: newUnit(bad)}); !strings.Contains(recorded, want) {
			t.Errorf("kubelet takes %s: %s", bad, recorded)
		}
	}
}
