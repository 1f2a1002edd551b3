// SPDX-License-Identifier: Apache-2.0

package install

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/apitest"
)

// Only OpenShift has the namespace of the dashboard, which the controllers on a management cluster share.
func TestMonitoring(t *testing.T) {
	console := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "openshift-config-managed"}}
	for name, test := range map[string]struct {
		in          cluster.Place
		isOpenShift bool
		added       int
		remains     bool // of the dashboard
	}{
		"on the management cluster": {cluster.Management, true, 4, true},
		"in the hosted cluster":     {cluster.Hosted, true, 4, false},
		"not on OpenShift":          {cluster.Management, false, 3, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := &clusters{
				management: apitest.Start(t, apitest.HyperShift, apitest.Monitoring),
				hosted:     apitest.Start(t, apitest.Enrollments, apitest.Monitoring),
			}
			if test.isOpenShift {
				c.management.Set(t, console)
				c.hosted.Set(t, console)
			}
			plain := func(i *Installer) { i.In = test.in }
			monitored := func(i *Installer) { i.In, i.Monitoring = test.in, true }
			c.install(t, plain)
			before := c.objects()
			c.install(t, monitored)
			if added := len(c.objects()) - len(before); added != test.added {
				t.Errorf("%d objects were added: %v", added, c.objects())
			}
			for _, change := range c.install(t, monitored) {
				if change.Result != Unchanged {
					t.Errorf("again: %s: %s", change, change.Result)
				}
			}
			if got, err := c.installer(t, plain).installed(t.Context()); err != nil || !got.Monitoring {
				t.Errorf("installed: %+v, %v", got, err)
			}
			c.install(t, plain)
			left := slices.DeleteFunc(c.objects(), func(object string) bool { return slices.Contains(before, object) })
			if dashboard := len(left) == 1 && strings.HasPrefix(left[0], "ConfigMap/"); dashboard != test.remains {
				t.Errorf("left: %v", left)
			}
			c.install(t, monitored)
			if _, _, err := c.installer(t, plain).Uninstall(t.Context(), true, false); err != nil {
				t.Fatal(err)
			}
			for _, object := range c.objects() {
				if kind, _, _ := strings.Cut(object, "/"); kind != "Namespace" && (kind != "ConfigMap" || !test.remains) {
					t.Errorf("%s remains", object)
				}
			}
		})
	}
}

func TestMonitoringNeedsPrometheusOperator(t *testing.T) {
	c := startClusters(t)
	i := c.installer(t, func(i *Installer) { i.Monitoring = true })
	_, err := i.Install(t.Context())
	if report.CodeOf(err) != report.Refused || !strings.Contains(err.Error(), "has no Prometheus Operator") ||
		len(c.objects()) > 0 {
		t.Errorf("%v; objects %v", err, c.objects())
	}
}
