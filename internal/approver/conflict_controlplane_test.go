// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package approver

import (
	"context"
	"net"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
)

// A node can write any address into its own Node object. This must not prevent another node,
// whose enrollment contains the address, from getting its serving certificate.
func TestControlPlaneNodeCannotBlockServingCSROfAnother(t *testing.T) {
	s := newTestCluster(t)
	csrtest.SubmitWithToken(t, s.newToken("blocked", csrtest.ClusterCA(t), 0, "192.0.2.50"))
	csrtest.SubmitWithToken(t, s.newToken("blocking", csrtest.ClusterCA(t), 0, "192.0.2.66"))
	s.runOnce()
	as := func(node string) rest.ImpersonationConfig {
		return rest.ImpersonationConfig{UserName: "system:node:" + node, Groups: []string{"system:nodes"}}
	}
	nodes := csrtest.Client(t, as("blocking")).CoreV1().Nodes()
	_, err := nodes.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "blocking"}},
		metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := kubetest.AdminClient(t).CoreV1().Nodes().Delete(context.Background(), "blocking",
			metav1.DeleteOptions{}); err != nil {
			t.Log(err)
		}
	})
	// A patch, because controllers of the cluster change the new Node, too.
	const addresses = `{"status":{"addresses":[
		{"type":"InternalIP","address":"192.0.2.66"}, {"type":"InternalIP","address":"192.0.2.50"}]}}`
	_, err = nodes.Patch(t.Context(), "blocking", types.MergePatchType, []byte(addresses), metav1.PatchOptions{}, "status")
	if err != nil {
		t.Fatal(err)
	}
	serving := func(node string) string {
		return submit(t, csrtest.Client(t, as(node)), certtest.NewKey(t), certificatesv1.KubeletServingSignerName,
			certificatesv1.UsageServerAuth, nodeSubject(node), []string{node}, net.ParseIP("192.0.2.50"))
	}
	rightful, thief := serving("blocked"), serving("blocking")
	s.runOnce()
	if recorded := s.lastEvent(rightful); csrtest.Conditions(t, rightful) != approvedByAgent ||
		!strings.Contains(recorded.Reason,
			"Node blocking has the same address 192.0.2.50, which is in no enrollment of blocking") {
		t.Errorf("the CSR is %q: %+v", csrtest.Conditions(t, rightful), recorded)
	}
	if recorded := s.lastEvent(thief); csrtest.Conditions(t, thief) != "" ||
		!strings.Contains(recorded.Reason, "the address 192.0.2.50") {
		t.Errorf("the other node's CSR is %q: %+v", csrtest.Conditions(t, thief), recorded)
	}
}
