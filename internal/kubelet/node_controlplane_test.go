//go:build controlplane

package kubelet

import (
	"crypto/x509"
	"encoding/json"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/util/cert"

	"github.com/hcp-node-agent/hcp-node-agent/internal/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// joinedNode returns a node with an identity, and its Node.
func joinedNode(t *testing.T, name string) (*Node, *Identity, *recorder) {
	t.Helper()
	identity, said := newIdentity(t, name)
	if _, err := identity.Obtain(contextWithTimeout(t, time.Minute), manualApprover(t)); err != nil {
		t.Fatal(err)
	}
	node, err := OpenNode(identity.Kubeconfig, name, noProxy, said.log())
	if err != nil {
		t.Fatal(err)
	}
	node.BootID, node.Host.CNIDirectory = "this-boot", t.TempDir()
	return node, identity, said
}

// createNode creates the Node with the node's own credential.
func createNode(t *testing.T, node *Node, taints ...corev1.Taint) {
	t.Helper()
	_, err := node.api.client.Nodes().Create(t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, Labels: map[string]string{"kubernetes.io/hostname": node.Name}},
		Spec:       corev1.NodeSpec{Taints: taints},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// reportReady patches the Node's status as kubelet does.
func reportReady(t *testing.T, node *Node, status corev1.ConditionStatus, message string) {
	t.Helper()
	now := metav1.Now()
	patch, err := json.Marshal(map[string]any{"status": corev1.NodeStatus{
		NodeInfo: corev1.NodeSystemInfo{BootID: "this-boot"},
		Conditions: []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: status, Reason: "ForTest", Message: message, LastHeartbeatTime: now, LastTransitionTime: now,
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	patchStatus(t, node, patch)
}

// patchStatus patches the Node's status with the node's own credential.
func patchStatus(t *testing.T, node *Node, patch []byte) {
	t.Helper()
	err := node.api.client.RESTClient().Patch(types.StrategicMergePatchType).Resource("nodes").Name(node.Name).SubResource("status").
		Body(patch).Do(t.Context()).Error()
	if err != nil {
		t.Fatal(err)
	}
}

func TestControlPlaneWaitReadyAndSchedulable(t *testing.T) {
	node, _, said := joinedNode(t, "ready")
	done := make(chan error)
	go func() { done <- node.WaitReady(contextWithTimeout(t, time.Minute)) }()
	waitUntil(t, "word of the missing Node", func() bool { return strings.Contains(said.text(), "has not registered Node ready yet") })
	createNode(t, node, corev1.Taint{Key: "team", Value: "blue", Effect: corev1.TaintEffectNoSchedule})
	reportReady(t, node, corev1.ConditionFalse, cniMessage)
	waitUntil(t, "word of the network", func() bool {
		return strings.Contains(said.text(), "the network plugin has not written its configuration")
	})
	reportReady(t, node, corev1.ConditionTrue, "")
	if err := <-done; err != nil {
		t.Fatalf("Ready() = %v", err)
	}

	err := node.WaitSchedulable(contextWithTimeout(t, 3*time.Second))
	if report.CodeOf(err) != report.Failed || !strings.Contains(err.Error(), "taint team=blue:NoSchedule") || !strings.Contains(report.RemedyOf(err), "oc adm taint node ready team-") {
		t.Errorf("Schedulable() = %v (%s)", err, report.RemedyOf(err))
	}
	go func() { done <- node.WaitSchedulable(contextWithTimeout(t, time.Minute)) }()
	_, err = newAdminClient(t).CoreV1().Nodes().Patch(t.Context(), node.Name, types.JSONPatchType, []byte(`[{"op":"remove","path":"/spec/taints"}]`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("Schedulable() = %v", err)
	}
}

func TestControlPlaneReadyRequiresCurrentBoot(t *testing.T) {
	node, _, _ := joinedNode(t, "old-boot")
	createNode(t, node)
	reportReady(t, node, corev1.ConditionTrue, "")
	node.BootID = "a-later-boot"
	if err := node.WaitReady(contextWithTimeout(t, 2*time.Second)); err == nil || !strings.Contains(err.Error(), "another boot (this-boot, this one is a-later-boot)") {
		t.Errorf("Ready() = %v for a Node that an earlier boot left Ready", err)
	}
}

func TestControlPlaneCordonAndEvict(t *testing.T) {
	node, _, said := joinedNode(t, "leaving")
	createNode(t, node)
	reportReady(t, node, corev1.ConditionTrue, "")
	if err := node.Cordon(contextWithTimeout(t, time.Minute)); err != nil {
		t.Fatalf("Cordon() = %v", err)
	}
	current, err := newAdminClient(t).CoreV1().Nodes().Get(t.Context(), node.Name, metav1.GetOptions{})
	if err != nil || !current.Spec.Unschedulable {
		t.Fatalf("the Node is not cordoned: %v", err)
	}

	guarded := createReadyPod(t, node.Name, "guarded")
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "keep-one", Namespace: "default"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &intstr.IntOrString{IntVal: 1}, Selector: &metav1.LabelSelector{MatchLabels: guarded.Labels}},
	}
	if _, err := newAdminClient(t).PolicyV1().PodDisruptionBudgets("default").Create(t.Context(), budget, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "the budget to count", func() bool {
		b, err := newAdminClient(t).PolicyV1().PodDisruptionBudgets("default").Get(t.Context(), "keep-one", metav1.GetOptions{})
		return err == nil && b.Status.ObservedGeneration == b.Generation && b.Status.DesiredHealthy == 1
	})

	if err := node.Evict(contextWithTimeout(t, time.Minute), false); report.CodeOf(err) != report.Refused || !strings.Contains(err.Error(), "default/guarded") {
		t.Errorf("Evict() = %v, want a refusal to lose a pod", err)
	}
	err = node.Evict(contextWithTimeout(t, 4*time.Second), true)
	if report.CodeOf(err) != report.Failed || !strings.Contains(err.Error(), "default/guarded") || !strings.Contains(err.Error(), "keep-one") {
		t.Errorf("Evict() = %v, want the PodDisruptionBudget named", err)
	}
	if err := newAdminClient(t).PolicyV1().PodDisruptionBudgets("default").Delete(t.Context(), "keep-one", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- node.Evict(contextWithTimeout(t, time.Minute), true) }()
	waitUntil(t, "the eviction", func() bool {
		p, err := newAdminClient(t).CoreV1().Pods("default").Get(t.Context(), "guarded", metav1.GetOptions{})
		return err == nil && p.DeletionTimestamp != nil
	})
	var at int64 // there is no kubelet to end the pod
	if err := newAdminClient(t).CoreV1().Pods("default").Delete(t.Context(), "guarded", metav1.DeleteOptions{GracePeriodSeconds: &at}); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("Evict() = %v", err)
	}

	// The next join removes the agent's own cordon.
	if err := node.WaitSchedulable(contextWithTimeout(t, time.Minute)); err != nil || !strings.Contains(said.text(), "the cordon is lifted") {
		t.Errorf("Schedulable() after leave = %v", err)
	}
	unschedulable := []byte(`{"spec":{"unschedulable":true}}`)
	if _, err := newAdminClient(t).CoreV1().Nodes().Patch(t.Context(), node.Name, types.MergePatchType, unschedulable, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := node.WaitSchedulable(contextWithTimeout(t, 2*time.Second)); !strings.Contains(report.RemedyOf(err), "oc adm uncordon leaving") {
		t.Errorf("Schedulable() = %v (%s), want an administrator's cordon left alone", err, report.RemedyOf(err))
	}
}

// createReadyPod creates a ready pod that is bound to the node.
func createReadyPod(t *testing.T, node, name string) *corev1.Pod {
	t.Helper()
	pods := newAdminClient(t).CoreV1().Pods("default")
	p, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main", Image: "none"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p.Status.Phase = corev1.PodRunning
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	if p, err = pods.UpdateStatus(t.Context(), p, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestControlPlaneServing(t *testing.T) {
	node, identity, said := joinedNode(t, "serving")
	serving := &Serving{Node: node, Dir: identity.Dir, Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.7")}, Validate: rejectMismatch}
	key := certtest.NewKey(t)
	ask := func(address string) string {
		subject := nodeSubject(node.Name)
		request, err := cert.MakeCSR(key, &subject, []string{node.Name}, []net.IP{net.ParseIP(address)})
		if err != nil {
			t.Fatal(err)
		}
		csr, err := node.api.client.CSRs().Create(t.Context(), &certificatesv1.CertificateSigningRequest{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "csr-"},
			Spec: certificatesv1.CertificateSigningRequestSpec{
				Request: request, SignerName: certificatesv1.KubeletServingSignerName,
				Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return csr.Name
	}

	bad := ask("192.0.2.99")
	err := func() error {
		_, err := serving.Obtain(contextWithTimeout(t, 3*time.Second), manualApprover(t))
		return err
	}()
	if report.CodeOf(err) != report.ApprovalMissing || !strings.Contains(err.Error(), bad+" does not fit this machine, do not approve it") {
		t.Errorf("Obtain() with an address of another machine = %v", err)
	}

	time.Sleep(1100 * time.Millisecond) // creation times have whole seconds, and the newest counts
	good := ask("192.0.2.7")
	done := make(chan error)
	go func() { _, err := serving.Obtain(contextWithTimeout(t, time.Minute), nil); done <- err }()
	waitUntil(t, "the approve command", func() bool { return strings.Contains(said.text(), "\noc adm certificate approve "+good+"\n") })
	setCSRCondition(t, good, certificatesv1.CertificateApproved)
	var issued []byte
	waitUntil(t, "the certificate", func() bool {
		csr, err := newAdminClient(t).CertificatesV1().CertificateSigningRequests().Get(t.Context(), good, metav1.GetOptions{})
		if err == nil {
			issued = csr.Status.Certificate
		}
		return len(issued) > 0
	})
	writeFile(t, filepath.Join(identity.Dir, "kubelet-server-current.pem"), issued) // as kubelet does
	if err := <-done; err != nil {
		t.Errorf("Obtain() = %v", err)
	}
	if serving.Check() != Valid {
		t.Errorf("Check() = %q", serving.Check())
	}
}

func rejectMismatch(csr *certificatesv1.CertificateSigningRequest) error {
	const address = "192.0.2.7"
	request, err := parseRequest(csr.Spec.Request)
	if err != nil {
		return err
	}
	if len(request.IPAddresses) != 1 || request.IPAddresses[0].String() != address {
		return x509.HostnameError{Certificate: &x509.Certificate{IPAddresses: request.IPAddresses}, Host: address}
	}
	return nil
}
