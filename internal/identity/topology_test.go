// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// The messages while a CSR is pending match the kind of cluster.
func TestApprovalHintsMatchTopology(t *testing.T) {
	csr := &kube.CSR{
		Spec: certificatesv1.CertificateSigningRequestSpec{Username: "system:node:worker-1"},
	}
	csr.Name = "csr-x"
	for name, test := range map[string]struct {
		place      ClusterTopology
		want, lack []string
	}{
		"hosted": {
			want: []string{
				"on platform None no controller approves it", "on the hosted cluster",
				"hosted control plane's kube-controller-manager", "current user data",
			},
			lack: []string{"Machine object", "machine-config server"},
		},
		"standalone": {
			place: ClusterTopology{Standalone: true},
			want: []string{
				"this host has no Machine object, so no controller approves it",
				"run on the cluster:", "clusteroperator kube-controller-manager", "the machine-config server provides",
			},
			lack: []string{"platform None", "hosted", "user data"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			key, err := loadOrCreateKey(t.TempDir(), nil)
			if err != nil {
				t.Fatal(err)
			}
			a := &csrRequester{
				identity:   &Identity{NodeName: "worker-1", Topology: test.place},
				conn:       &kube.Conn{Endpoint: kube.Endpoint{Clock: &kube.ServerClock{}}},
				key:        key,
				desired:    csr,
				lastStatus: csrStatus{phase: phasePending},
			}
			refused := a.explainRejection(apierrors.NewUnauthorized("no"))
			text := a.pendingText(csr) + string(report.RemedyOf(a.timeoutError())) +
				servingApprovalText(csr) + string(test.place.approvalRemedy("x")) +
				string(report.RemedyOf(refused))
			a.lastStatus.phase = phaseApproved
			text += string(report.RemedyOf(a.timeoutError()))
			for _, want := range test.want {
				if !strings.Contains(text, want) {
					t.Errorf("%q is missing in: %s", want, text)
				}
			}
			for _, lack := range test.lack {
				if strings.Contains(text, lack) {
					t.Errorf("%q is in: %s", lack, text)
				}
			}
		})
	}
}
