// SPDX-License-Identifier: Apache-2.0

package enroll

import (
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/apitest"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
)

func TestConnectRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		installed string
		err       error
		change    func(*rest.Config)
		code      report.Code
		want      string
	}{
		"no CA": {
			apitest.Enrollments, nil, func(c *rest.Config) { c.CAData, c.Insecure = nil, true }, report.Usage, "contains no CA",
		},
		"no file": {
			apitest.Enrollments, nil, func(c *rest.Config) { c.CAData, c.CAFile = nil, "/gone" }, report.Usage,
			"reading the files of the kubeconfig: ",
		},
		"a management cluster": {
			apitest.HyperShift, nil, nil, report.Refused, " is a management cluster, not a hosted cluster",
		},
		"without the API": {
			"", nil, nil, report.Refused, " does not serve hcp-node-agent.io/v1alpha1: the API of NodeEnrollments is not ",
		},
		"rejected credential": {
			apitest.Enrollments, apierrors.NewUnauthorized(""), nil, report.CredentialRefused, "is rejected (HTTP 401)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := apitest.Start(t, test.installed)
			if test.err != nil {
				server.Before = apitest.Reject(http.MethodGet, "", test.err)
			}
			config := server.Config()
			if test.change != nil {
				test.change(config)
			}
			opened, err := cluster.Open(cluster.Hosted, config)
			if err == nil {
				_, err = newCluster(t.Context(), opened)
			}
			reporttest.CheckFailure(t, err, test.code, test.want)
		})
	}
}

func TestRevoke(t *testing.T) {
	h := startHostedCluster(t)
	h.publish(t)
	before := len(h.Names())
	if _, err := h.enroll(t, "worker-1 worker-2", nil); err != nil {
		t.Fatal(err)
	}
	h.Set(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-2"}})
	for node, want := range map[string]Revoked{
		"worker-1": {NodeName: "worker-1", WasDeleted: true},
		"worker-2": {NodeName: "worker-2", WasDeleted: true, NodeExists: true},
		"worker-3": {NodeName: "worker-3"},
	} {
		if got, err := h.cluster.revoke(t.Context(), node); got != want || err != nil {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
	}
	if left := h.Names(); len(left) != before+1 { // the Node
		t.Errorf("left are %v", left)
	}
	h.Before = apitest.Reject(http.MethodDelete, "/nodeenrollments/worker-1", apitest.Forbidden())
	_, err := h.cluster.revoke(t.Context(), "worker-1")
	reporttest.CheckFailure(t, err, report.CredentialRefused, "deleting NodeEnrollment worker-1 on ")
}
