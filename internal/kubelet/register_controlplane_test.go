//go:build controlplane

package kubelet

import (
	"maps"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/bed"
)

// bedLabels are labels of a unit that upstream's kubelet and API server accept.
// OpenShift's also accept node-role.kubernetes.io/worker.
const bedLabels = "--node-labels=node.openshift.io/os_id=${ID} \\\n      "

// newRegistrationCheck returns the check of a node in the test environment with these
// labels and taints.
func newRegistrationCheck(t *testing.T, labels, taints []string) *RegistrationCheck {
	t.Helper()
	wishes, err := NewRegistration(labels, taints, "clusters/demo-workers")
	if err != nil {
		t.Fatal(err)
	}
	launch := UnitFiles{Unit: newUnit(bedLabels), File: readerOf(map[string]string{"/etc/os-release": "ID=\"rhel\"\n"})}
	content, err := wishes.RenderDropIn(launch)
	if err != nil {
		t.Fatal(err)
	}
	return &RegistrationCheck{UnitFiles: launch.withDropIn(DropIn{RegistrationDropIn, content}), Desired: wishes, Arch: "amd64", FirstJoin: true}
}

func TestControlPlaneRegistration(t *testing.T) {
	identity, said := newIdentity(t, "labelled")
	identity.RegistrationCheck = newRegistrationCheck(t, []string{"example.com/rack=7", "topology.kubernetes.io/zone=b"}, []string{"team=blue:NoSchedule"})
	if _, err := identity.Obtain(contextWithTimeout(t, time.Minute), manualApprover(t)); err != nil {
		t.Fatalf("Obtain() = %v; said:\n%s", err, said.text())
	}
	nodes := newAdminClient(t).CoreV1().Nodes()
	if _, err := nodes.Get(t.Context(), "labelled", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the question has made the Node: %v", err)
	}

	// Create the checked Node with the node's own right, as kubelet does.
	node, err := OpenNode(identity.Kubeconfig, "labelled", noProxy, said.log())
	if err != nil {
		t.Fatal(err)
	}
	asked, err := identity.RegistrationCheck.ExpectedNode("labelled")
	if err != nil {
		t.Fatal(err)
	}
	made, err := node.api.client.Nodes().Create(t.Context(), asked, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"example.com/rack": "7", "topology.kubernetes.io/zone": "b", NodePoolLabel: "demo-workers", "node.openshift.io/os_id": "rhel", "kubernetes.io/hostname": "labelled",
	} {
		if made.Labels[key] != want {
			t.Errorf("label %s=%q, want %q", key, made.Labels[key], want)
		}
	}
	if !strings.Contains(taintsOf(made), "team=blue:NoSchedule") {
		t.Errorf("taints %s", taintsOf(made))
	}

	// Another run finds the Node, and what it lacks of a different desired state.
	identity.RegistrationCheck = newRegistrationCheck(t, []string{"example.com/rack=8"}, []string{"team=blue:NoSchedule", "quiet:NoExecute"})
	if _, err := identity.Obtain(contextWithTimeout(t, time.Minute), nil); err != nil {
		t.Errorf("Obtain() with the Node there = %v", err)
	}
	const want = "Node labelled was registered before, without label example.com/rack=8 (it has example.com/rack=7), taint quiet:NoExecute;"
	if !strings.Contains(said.text(), want) || !strings.Contains(said.text(), "oc label node labelled --overwrite example.com/rack=8; oc adm taint node labelled --overwrite quiet:NoExecute ") {
		t.Errorf("said:\n%s\nwant %q", said.text(), want)
	}
}

func TestControlPlaneRejectedRegistration(t *testing.T) {
	identity, said := newIdentity(t, "restricted")
	const label = "team.node-restriction.kubernetes.io/secret=yes"
	identity.RegistrationCheck = newRegistrationCheck(t, []string{label, "a=b"}, nil)
	first, err := identity.Obtain(contextWithTimeout(t, time.Minute), manualApprover(t))
	if report.CodeOf(err) != report.Refused || !strings.Contains(err.Error(), `nodes "restricted" is forbidden: node "restricted" is not allowed to set the following labels: team.node-restriction.kubernetes.io/secret`) {
		t.Errorf("Obtain() = %v (code %d)", err, report.CodeOf(err))
	}
	const remedy = "# join without --node-label " + label + " and, once the node is there, on the hosted cluster:\noc label node restricted " + label
	if report.RemedyOf(err) != remedy {
		t.Errorf("the remedy is %q\nwant %q", report.RemedyOf(err), remedy)
	}

	// Without the label, the identity already exists and no new approval is
	// needed.
	identity.RegistrationCheck = newRegistrationCheck(t, []string{"a=b"}, nil)
	if second, err := identity.Obtain(contextWithTimeout(t, time.Minute), nil); err != nil || second.Changed {
		t.Errorf("Obtain() = %+v, %v after %s", second, err, first.CSR)
	}

	// For an existing Node a rejection is logged and is not an error.
	node, err := OpenNode(identity.Kubeconfig, "restricted", noProxy, said.log())
	if err != nil {
		t.Fatal(err)
	}
	createNode(t, node)
	identity.RegistrationCheck = newRegistrationCheck(t, []string{label}, nil)
	if _, err := identity.Obtain(contextWithTimeout(t, time.Minute), nil); err != nil || !strings.Contains(said.text(), "would not let this Node register anew: ") {
		t.Errorf("Obtain() = %v; said:\n%s", err, said.text())
	}

	// A label from the payload's unit cannot be excluded by the administrator.
	unit, _ := newIdentity(t, "restricted-by-unit")
	unit.RegistrationCheck = newRegistrationCheck(t, nil, nil)
	unit.RegistrationCheck.UnitFiles.Unit = strings.ReplaceAll(newUnit(bedLabels), "os_id=${ID}", "os_id=${ID},kubernetes.io/site=a")
	unit.RegistrationCheck.UnitFiles.DropIns = nil
	if _, err := unit.Obtain(contextWithTimeout(t, time.Minute), manualApprover(t)); report.CodeOf(err) != report.Refused || !strings.Contains(report.RemedyOf(err), "systemctl cat kubelet") {
		t.Errorf("Obtain() = %v (%s)", err, report.RemedyOf(err))
	}
}

// The message of an administrator's own policy is shown unchanged.
func TestControlPlaneRegistrationRejectedByPolicy(t *testing.T) {
	policies := newAdminClient(t).AdmissionregistrationV1()
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "no-purple"},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"nodes"}},
			}}}},
			Validations: []admissionv1.Validation{{
				Expression: "!has(object.spec.taints) || !object.spec.taints.exists(t, t.key == 'team' && t.value == 'purple')", Message: "the purple team has no nodes",
			}},
		},
	}
	if _, err := policies.ValidatingAdmissionPolicies().Create(t.Context(), policy, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "no-purple"},
		Spec:       admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: "no-purple", ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
	}
	if _, err := policies.ValidatingAdmissionPolicyBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	purple := corev1.Taint{Key: "team", Value: "purple", Effect: corev1.TaintEffectNoSchedule}
	waitUntil(t, "the policy to count", func() bool {
		_, err := newAdminClient(t).CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "probe"}, Spec: corev1.NodeSpec{Taints: []corev1.Taint{purple}}},
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil
	})
	identity, _ := newIdentity(t, "purple")
	identity.RegistrationCheck = newRegistrationCheck(t, []string{"a=b"}, []string{"team=purple:NoSchedule"})
	_, err := identity.Obtain(contextWithTimeout(t, time.Minute), manualApprover(t))
	if report.CodeOf(err) != report.Refused || !strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'no-purple' with binding 'no-purple' denied request: the purple team has no nodes") ||
		!strings.Contains(report.RemedyOf(err), "--node-taint team=purple:NoSchedule") {
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
		for _, word := range splitWords(command) {
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
		launch.Unit = strings.ReplaceAll(launch.Unit, "node-role.kubernetes.io/worker,", "") // only OpenShift's kubelet accepts it
		launch.Unit = strings.ReplaceAll(launch.Unit, ",x=${X}:NoExecute", "")
		content, err := desiredRegistration(t, "team=blue:NoSchedule", "quiet:PreferNoSchedule").RenderDropIn(launch)
		if err != nil {
			t.Fatal(err)
		}
		if said := start(launch.withDropIn(DropIn{RegistrationDropIn, content})); !strings.Contains(said, "failed to load kubelet config file") {
			t.Errorf("%s: kubelet does not take the drop-in: %s", name, said)
		}
	}
	for bad, want := range map[string]string{
		"--node-labels=kubernetes.io/site=a ":      "unknown 'kubernetes.io' or 'k8s.io' labels",
		"--register-with-taints=team=blue:Never ":  "invalid taint",
		"--node-labels=a=b --register-with-taint ": "unknown flag",
	} {
		if said := start(UnitFiles{Unit: newUnit(bad)}); !strings.Contains(said, want) {
			t.Errorf("kubelet takes %s: %s", bad, said)
		}
	}
}
