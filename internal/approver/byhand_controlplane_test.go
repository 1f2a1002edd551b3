//go:build controlplane

package approver

import (
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/hcp-node-agent/hcp-node-agent/internal/certtest"
)

// makeNodeOnce makes a Node that the test itself deletes.
func makeNodeOnce(t *testing.T, name, address string) {
	t.Helper()
	if _, err := adminClient(t).CoreV1().Nodes().Create(t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// byHandServing approves the serving CSR that comes while it is waited for,
// and none with another machine's address.
func byHandServing(t *testing.T, a *Approver) {
	t.Helper()
	who := client(t, plane.Kubeconfig, rest.ImpersonationConfig{UserName: "system:node:hand", Groups: []string{"system:nodes"}})
	serving := func(ip string) string {
		return submit(t, who, certtest.NewKey(t), certificatesv1.KubeletServingSignerName, certificatesv1.UsageServerAuth, nodeSubject("hand"), []string{"hand"}, net.ParseIP(ip))
	}
	node := ByHand{NodeName: "hand", Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.60"), netip.MustParseAddr("192.0.2.62")}}
	done := make(chan error)
	go func() { done <- a.ByHand(within(t, time.Minute), node) }()
	time.Sleep(500 * time.Millisecond) // so that it waits; whether it does changes nothing that is asserted
	good := serving("192.0.2.60")
	if err := <-done; err != nil || approvals(t, good) != byAgent {
		t.Errorf("ByHand() = %v; the CSR is %q", err, approvals(t, good))
	}
	time.Sleep(time.Second) // creation times have whole seconds, and the newest counts
	bad := serving("192.0.2.63")
	if err := a.ByHand(within(t, time.Minute), node); err == nil || !strings.Contains(err.Error(), "with the address 192.0.2.63") || approvals(t, bad) != "" {
		t.Errorf("ByHand() = %v; the CSR is %q", err, approvals(t, bad))
	}
	makeNode(t, "hand-other", "192.0.2.62")
	time.Sleep(time.Second)
	taken := serving("192.0.2.62")
	if err := a.ByHand(within(t, time.Minute), node); err == nil || !strings.Contains(err.Error(), "is that of the Node hand-other") || approvals(t, taken) != "" {
		t.Errorf("ByHand() = %v; the CSR is %q", err, approvals(t, taken))
	}
}
