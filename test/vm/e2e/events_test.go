// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// TestEventsInTheLifeOfANode joins a machine with a join token, and causes the events that kubelet does
// not notice or not survive itself. The service reports each, repairs those that it can repair, and
// reports them as resolved. Others need a command of the administrator. In between the node is healthy.
// After a failed event the test continues if the node is healthy, and otherwise lists the remaining events.
func TestEventsInTheLifeOfANode(t *testing.T) {
	ctx := newContext(t)
	cluster := &changingCluster{payload: servedPayload(t)}
	conf := fileContent(t, cluster.payload, ignition.KubeletConfigPath)
	// By default kubelet reports the pressure for five minutes after it has ended.
	cluster.payload.SetFile(ignition.KubeletConfigPath,
		strings.Replace(conf, "evictionPressureTransitionPeriod: 0s", "evictionPressureTransitionPeriod: 10s", 1))
	serve(ctx, t, cluster.payload)
	trusted := mustOutput(ctx, t, "sha256sum "+trustStore)
	joinWithToken(ctx, t)
	events := []struct {
		name string
		test func(context.Context, *testing.T)
	}{
		{"taint, failing pod of the host, host name and clock", testReportedAndResolved},
		{"Node deleted", testNodeDeleted},
		{"address added and changed", testAddressChanged},
		{"drift", testDriftRepaired},
		{"DNS and registry gone", testNamesAndRegistryGone},
		{"disk full", testDiskFull},
		{"pull secret and client CA replaced", cluster.testPullSecretReplaced},
		{"pull secret renewed", cluster.testPullSecretRenewed},
		{"trust bundle renewed", testTrustBundleRenewed},
		{"new CA published", cluster.testCAPublished},
		{"CAs renewed", cluster.testCAsRenewed},
		{"API endpoint changed", cluster.testEndpointChanged},
		{"API server moved", cluster.testAPIServerMoved},
		{"moved to another NodePool", testOtherNodePool},
		{"client certificate expired while off", cluster.testExpiredWhileOff},
	}
	for i, event := range events {
		if t.Run(event.name, func(t *testing.T) { event.test(ctx, t); awaitHealthy(ctx, t) }) {
			continue
		}
		if !t.Run("node healthy after the failed event", func(t *testing.T) { awaitHealthy(ctx, t) }) {
			var names []string
			for _, remaining := range events[i+1:] {
				names = append(names, remaining.name)
			}
			t.Fatalf("the node is not healthy after %q; events that did not run: %q", event.name, names)
		}
		t.Log("later failures may be consequences")
	}
	runAgent(ctx, t, report.Success, "status")
	checkResources(ctx, t)
	// A crash, or the watchdog.
	mustOutput(ctx, t, "systemctl kill --kill-whom=main --signal=ABRT hcp-node-agent")
	await(ctx, t, "systemctl show -P NRestarts hcp-node-agent | grep -qx 1 && systemctl is-active hcp-node-agent")
	leaveWithoutTheCluster(ctx, t)
	if now := mustOutput(ctx, t, "sha256sum "+trustStore); now != trusted {
		t.Errorf("after leave the trust store is %s, before the join %s", now, trusted)
	}
}

// awaitHealthy waits until the service reports a healthy node. The service must not have been restarted.
func awaitHealthy(ctx context.Context, t *testing.T) {
	t.Helper()
	awaitStatus(ctx, t, "is Ready and schedulable$")
	state := mustOutput(ctx, t, "systemctl show -P ActiveState hcp-node-agent; systemctl show -P NRestarts hcp-node-agent")
	if state != "active\n0" {
		t.Errorf("the service is %q", state)
	}
}

// awaitStatus waits until systemd's status of the service matches a pattern.
func awaitStatus(ctx context.Context, t *testing.T, pattern string) {
	t.Helper()
	await(ctx, t, "systemctl show -P StatusText hcp-node-agent | grep -q '"+pattern+"'")
}

// awaitLog waits until the journal of the service contains a text.
func awaitLog(ctx context.Context, t *testing.T, text string) {
	t.Helper()
	await(ctx, t, logged(text))
}

// logged returns a command that succeeds if the service has logged a text.
func logged(text string) string {
	return "journalctl -b -u hcp-node-agent STEP=monitor -o cat | grep -qF " + vm.Quote(text)
}

// awaitResolved waits until the service has reported that a finding with a text is resolved.
func awaitResolved(ctx context.Context, t *testing.T, text string) {
	t.Helper()
	await(ctx, t, "journalctl -b -u hcp-node-agent STEP=monitor -o cat | grep 'resolved: ' | grep -qF "+vm.Quote(text))
}

func testNodeDeleted(ctx context.Context, t *testing.T) {
	before, err := environment.Client.CoreV1().Nodes().Get(ctx, testenv.NodeName, metav1.GetOptions{})
	must(t, err)
	must(t, environment.Client.CoreV1().Nodes().Delete(ctx, testenv.NodeName, metav1.DeleteOptions{}))
	checkContains(t, runAgent(ctx, t, report.Failed, "status").Stdout, "the Node was deleted from the cluster")
	awaitLog(ctx, t, "repaired: restarted kubelet, which registered the Node again")
	awaitReadyNode(ctx, t)
	after, err := environment.Client.CoreV1().Nodes().Get(ctx, testenv.NodeName, metav1.GetOptions{})
	must(t, err)
	if before.UID == after.UID {
		t.Error("the Node is the same as before")
	}
	checkEvent(ctx, t, corev1.EventTypeWarning, "NodeDeleted", "was deleted from the cluster")
	checkEvent(ctx, t, corev1.EventTypeNormal, "NodeDeletedRepaired", "restarted kubelet")
}

// testAddressChanged adds an address, which is no event, and then changes the node's address: to one that
// an administrator must approve, and back to one of the enrollment.
func testAddressChanged(ctx context.Context, t *testing.T) {
	const other = "192.0.2.201"
	original := mustOutput(ctx, t, "cat /run/nodeip-configuration/primary-ip")
	mustOutput(ctx, t, "ip address add 192.0.2.202/24 dev br-ex")
	mustOutput(ctx, t, `nmcli connection modify ovs-if-br-ex ipv4.method manual ipv4.addresses `+other+
		`/24 ipv4.gateway 192.0.2.1 ipv4.dns 192.0.2.1 &&
		nmcli device reapply br-ex`)
	awaitAddress(ctx, t, other, original, func() { approveServing(ctx, t, other) })
	if n := mustOutput(ctx, t, `journalctl -b -u hcp-node-agent -o cat | grep -c "192.0.2.202" || true`); n != "0" {
		t.Errorf("the additional address was reported %s times", n)
	}
	mustOutput(ctx, t,
		`nmcli connection modify ovs-if-br-ex ipv4.method auto ipv4.addresses '' ipv4.gateway '' ipv4.dns '' &&
			nmcli device reapply br-ex`)
	awaitAddress(ctx, t, original, other, func() {})
}

// awaitAddress waits until the service has reported and repaired a change of the node's address.
func awaitAddress(ctx context.Context, t *testing.T, now, before string, approve func()) {
	t.Helper()
	awaitLog(ctx, t, "repaired: kubelet and CRI-O use the node address "+now)
	checkEvent(ctx, t, corev1.EventTypeWarning, "NodeAddressChanged", "the node address changed to "+now+" from "+before)
	environmentOutput := mustOutput(ctx, t, `for unit in crio kubelet; do
			tr '\0' '\n' </proc/$(systemctl show -P MainPID $unit)/environ
		done | grep -E '^(KUBELET_NODE_IP|CONTAINER_STREAM_ADDRESS)='
		cat /run/nodeip-configuration/primary-ip`)
	if want := "CONTAINER_STREAM_ADDRESS=" + now + "\nKUBELET_NODE_IP=" + now + "\n" + now; environmentOutput != want {
		t.Errorf("after the repair:\n%s\nwant\n%s", environmentOutput, want)
	}
	approve()
	waittest.UntilText(t, now, func() string {
		node, err := environment.Client.CoreV1().Nodes().Get(ctx, testenv.NodeName, metav1.GetOptions{})
		must(t, err)
		return fmt.Sprint(node.Status.Addresses)
	})
	awaitResolved(ctx, t, "the node address changed to "+now)
	await(ctx, t, "openssl s_client -connect "+now+
		":10250 </dev/null 2>/dev/null | openssl x509 -noout -ext subjectAltName | grep -qF 'IP Address:"+now+"'")
}

// approveServing waits for the serving CSR with an address and approves it, as an approver does.
func approveServing(ctx context.Context, t *testing.T, address string) {
	t.Helper()
	waittest.Until(t, "waiting for a serving CSR with the address "+address, func() (any, bool) {
		list, err := environment.Client.CertificatesV1().CertificateSigningRequests().List(ctx, metav1.ListOptions{})
		must(t, err)
		for _, csr := range list.Items {
			block, _ := pem.Decode(csr.Spec.Request)
			request, err := x509.ParseCertificateRequest(block.Bytes)
			if err == nil && csr.Spec.SignerName == certificatesv1.KubeletServingSignerName &&
				strings.Contains(fmt.Sprint(request.IPAddresses), address) {
				return csr.Name, true
			}
		}
		return list.Items, false
	})
	if decideCSRs(ctx, t, certificatesv1.CertificateApproved) == 0 {
		t.Error("no CSR was pending")
	}
}

// testReportedAndResolved causes events that only a person can handle, all at the same time.
func testReportedAndResolved(ctx context.Context, t *testing.T) {
	const (
		taint      = "taint team=blue:NoSchedule"
		renamed    = "the host name changed to renamed, but the Node is " + testenv.NodeName
		clockAhead = "clock is 1h0m0s ahead of the API server"
		failingPod = "pod kube-system/unpullable-" + testenv.NodeName + " is not ready"
	)
	started := mustOutput(ctx, t,
		"systemctl show -P ExecMainStartTimestampMonotonic kubelet; date -s '+1 hour' >/dev/null; hostnamectl set-hostname "+
			"renamed")
	setTaints(ctx, t, `[{"key":"team","value":"blue","effect":"NoSchedule"}]`)
	addFailingStaticPod(ctx, t)

	for _, text := range []string{renamed, taint, clockAhead, failingPod} {
		awaitLog(ctx, t, text)
	}
	checkContains(t, runAgent(ctx, t, report.Failed, "status").Stdout, "hostnamectl set-hostname "+testenv.NodeName)
	checkContains(t, runAgent(ctx, t, report.Failed, "doctor").Stdout, "the host name changed to renamed")
	checkEvent(ctx, t, corev1.EventTypeWarning, "NodeTainted", taint)
	await(ctx, t, `grep -qx 'hcp_node_agent_findings{check="host",severity="problem"} 1' `+metricsFile)

	mustOutput(ctx, t, "date -s '-1 hour' >/dev/null; hostnamectl set-hostname "+testenv.NodeName+"; rm "+staticPodFile)
	setTaints(ctx, t, "null")
	for _, text := range []string{renamed, taint, clockAhead, failingPod} {
		awaitResolved(ctx, t, text)
	}
	checkEvent(ctx, t, corev1.EventTypeNormal, "HostNameChangedResolved", "renamed")
	checkEvent(ctx, t, corev1.EventTypeNormal, "NodeTaintedResolved", "resolved: ")
	await(ctx, t, `grep -qx 'hcp_node_agent_findings{check="host",severity="problem"} 0' `+metricsFile)
	if again := mustOutput(ctx, t, "systemctl show -P ExecMainStartTimestampMonotonic kubelet"); again != started {
		t.Error("kubelet was restarted")
	}
}

const staticPodFile = "/etc/kubernetes/manifests/unpullable.yaml"

// addFailingStaticPod adds a static pod whose image does not exist.
func addFailingStaticPod(ctx context.Context, t *testing.T) {
	t.Helper()
	repository, _, _ := strings.Cut(environment.ControlPlane.WorkloadImage, "@")
	manifest := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"unpullable","namespace":"kube-system"},
		"spec":{"hostNetwork":true,"containers":[{"name":"main","image":"` + repository + `:none"}]}}`
	must(t, environment.Machine.Put(ctx, staticPodFile, strings.NewReader(manifest), 0o600))
}

// testDriftRepaired changes a file and a sysctl, and disables kubelet. The check of drift runs at the start of the
// service.
func testDriftRepaired(ctx context.Context, t *testing.T) {
	const sysctl = "net.ipv4.neigh.default.gc_thresh1"
	mustOutput(ctx, t, "echo '# changed' >>/etc/containers/registries.conf && sysctl -qw "+sysctl+
		"=4096 && systemctl disable --quiet kubelet")
	checkContains(t, runAgent(ctx, t, report.DriftFound, "status").Stdout,
		"file /etc/containers/registries.conf", "sysctl "+sysctl, "unit kubelet.service")
	mustOutput(ctx, t, "systemctl restart hcp-node-agent")
	awaitLog(ctx, t, "repaired: restored the joined state")
	state := mustOutput(ctx, t, "grep -c changed /etc/containers/registries.conf || true; sysctl -n "+sysctl+
		"; systemctl is-enabled kubelet")
	if state != "0\n8192\nenabled" {
		t.Errorf("after the repair: %q", state)
	}
	awaitResolved(ctx, t, "drift: ")
	checkEvent(ctx, t, corev1.EventTypeNormal, "ConfigurationDriftRepaired", "restored the joined state")
}
