// SPDX-License-Identifier: Apache-2.0

package enroll

import (
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/lostnodes"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/site"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
)

// Nodes whose files and NodeEnrollments do not belong together are refused.
func TestEnrollRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(*testing.T, *hostedCluster)
		change  func(*Options)
		want    string
		remedy  string
	}{
		"another join token": {
			func(t *testing.T, h *hostedCluster) {
				h.mustEnroll(t, "worker-1", nil)
				h.change(t, func(o *v1alpha1.NodeEnrollment) { o.Spec.TokenID = "another" })
			}, nil, "node worker-1: its join token is not that of a NodeEnrollment: that of the cluster is for join token " +
				"another",
			"hcp-node-admin token revoke worker-1\n",
		},
		"revoked": {
			func(t *testing.T, h *hostedCluster) {
				h.mustEnroll(t, "worker-1", nil)
				h.Delete(t, &v1alpha1.NodeEnrollment{ObjectMeta: metav1.ObjectMeta{Name: "worker-1"}})
			}, nil, "node worker-1: its join token is not that of a NodeEnrollment: it was revoked, or is not applied yet",
			"worker-1.token.old",
		},
		"a file of another node": {
			func(t *testing.T, h *hostedCluster) {
				h.mustEnroll(t, "worker-2", nil)
				if err := os.Rename(h.tokenPath("worker-2"), h.tokenPath("worker-1")); err != nil {
					t.Fatal(err)
				}
			}, nil, "worker-1.token: it is the join token of node worker-2", "worker-1.token.old",
		},
		"a file of another cluster": {
			func(t *testing.T, h *hostedCluster) {
				h.mustEnroll(t, "worker-1", nil)
				h.cluster.CA = certtest.NewCA(t, "other").PEM
			}, nil, "worker-1.token: ", "worker-1.token.old",
		},
		"a foreign ServiceAccount": {
			func(t *testing.T, h *hostedCluster) {
				h.publish(t)
				h.Set(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
					Namespace: v1alpha1.Namespace, Name: v1alpha1.ServiceAccount("worker-1"),
					OwnerReferences: []metav1.OwnerReference{{Kind: "NodeEnrollment", Name: "worker-1", UID: "former"}},
				}})
			}, nil, " exists, and is not that of this NodeEnrollment", "delete serviceaccount node-worker-1",
		},
		"lost": {
			func(t *testing.T, h *hostedCluster) {
				key := lostnodes.Key()
				h.Set(t, &corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
					Data:       map[string]string{"worker-1": "removed"},
				})
			}, nil, "node worker-1 was removed as lost", "hcp-node-admin found worker-1 # if you control the host again",
		},
		"a join token without user data": {
			func(*testing.T, *hostedCluster) {},
			func(o *Options) { o.Input = HostInput{Format: CloudInit, Site: &site.Config{}} },
			"the join token of worker-1 contains no user data, which its host needs with --format cloud-init",
			"hcp-node-admin token revoke worker-1\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := startHostedCluster(t)
			test.prepare(t, h)
			_, err := h.enroll(t, "worker-1", test.change)
			reporttest.CheckFailure(t, err, report.Refused, test.want)
			if remedy := string(report.RemedyOf(err)); !strings.Contains(remedy, test.remedy) {
				t.Errorf("remedy %q, want %q", remedy, test.remedy)
			}
		})
	}
}

// A conflict of one node does not prevent the enrollment of the others.
func TestEnrollOtherNodesAfterConflict(t *testing.T) {
	h := startHostedCluster(t)
	h.mustEnroll(t, "worker-1", nil)
	h.change(t, func(o *v1alpha1.NodeEnrollment) { o.Spec.TokenID = "another" })
	result, err := h.enroll(t, "worker-1 worker-2", nil)
	if report.CodeOf(err) != report.Refused || len(result.Enrolled) != 2 || result.Enrolled[0].State != Incomplete ||
		result.Enrolled[1].State != Created {
		t.Errorf("%+v, %v", result.Enrolled, err)
	}
}

func TestEnrollWarns(t *testing.T) {
	remove := func(t *testing.T, path string) {
		t.Helper()
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	createdNow := func(t *testing.T, h *hostedCluster) {
		h.change(t, func(o *v1alpha1.NodeEnrollment) { o.CreationTimestamp = metav1.Now() })
	}
	for name, test := range map[string]struct {
		prepare func(*testing.T, *hostedCluster)
		change  func(*Options)
		node    string
		want    string
	}{
		"without the file": {
			func(t *testing.T, h *hostedCluster) { remove(t, h.tokenPath("worker-1")) }, nil, "worker-1=192.0.2.1",
			"NodeEnrollment worker-1 exists, was not used yet, and its join token is not in ",
		},
		"without the file, after the join": {
			func(t *testing.T, h *hostedCluster) {
				remove(t, h.tokenPath("worker-1"))
				h.change(t, func(o *v1alpha1.NodeEnrollment) { o.Spec.UsedBy = &v1alpha1.TokenUse{Key: "SHA256:00"} })
			}, nil, "worker-1=192.0.2.1", "",
		},
		"other addresses": {
			nil, nil, "worker-1=192.0.2.9",
			"the addresses of NodeEnrollment worker-1 are [192.0.2.1] and were not changed to [192.0.2.9]",
		},
		"another expiry": {
			createdNow, func(o *Options) { o.Lifetime = 48 * time.Hour }, "worker-1=192.0.2.1",
			"the join token of worker-1 is valid until ",
		},
		"the same expiry": {
			createdNow, func(o *Options) { o.Lifetime = 24 * time.Hour }, "worker-1=192.0.2.1", "",
		},
		"other labels": {
			nil, func(o *Options) { o.Labels = []string{"rack=r1"} }, "worker-1=192.0.2.1",
			"NodeEnrollment worker-1 has other labels or taints than requested, and was not changed",
		},
		"the address of another enrollment": {
			nil, nil, "worker-2=192.0.2.1", "NodeEnrollment worker-1 has the address 192.0.2.1 of worker-2",
		},
		"the address of a Node": {
			func(t *testing.T, h *hostedCluster) {
				h.Set(t, &corev1.Node{
					ObjectMeta: metav1.ObjectMeta{Name: "alone"},
					Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Address: "192.0.2.2"}}},
				})
			}, nil, "worker-2=192.0.2.2", "Node alone has the address 192.0.2.2 of worker-2",
		},
		"an existing Node": {
			func(t *testing.T, h *hostedCluster) {
				h.Set(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-2"}})
			}, nil, "worker-2", "Node worker-2 exists already: the controller admits no other host with this name",
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := startHostedCluster(t)
			h.mustEnroll(t, "worker-1=192.0.2.1", nil)
			if test.prepare != nil {
				test.prepare(t, h)
			}
			_, found := h.mustEnroll(t, test.node, test.change)
			if !strings.HasPrefix(found, test.want) || (found == "") != (test.want == "") {
				t.Errorf("%q, want %q", found, test.want)
			}
		})
	}
}
