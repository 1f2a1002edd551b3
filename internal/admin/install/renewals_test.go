// SPDX-License-Identifier: Apache-2.0

package install

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
)

// The nodes get the permission to read the pull secret where its namespace exists, wherever the controller runs. The
// removal of the controller ends it.
func TestInstallPermitsRenewals(t *testing.T) {
	for _, in := range []cluster.Place{cluster.Management, cluster.Hosted} {
		c := startClusters(t)
		change := func(i *Installer) { i.In = in }
		before := len(c.install(t, change))
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "openshift-config"}}
		c.hosted.Set(t, namespace)
		for _, isDryRun := range []bool{true, false} {
			changes := c.install(t, func(i *Installer) { i.In, i.DryRun = in, isDryRun })
			var created []string
			for _, one := range changes {
				if one.Result == Created {
					created = append(created, string(one.Cluster)+" "+one.String())
				}
			}
			want := []string{
				"hosted Role openshift-config/hcp-node-agent-renewals",
				"hosted RoleBinding openshift-config/hcp-node-agent-renewals",
				"hosted ClusterRole hcp-node-agent-api-server",
				"hosted ClusterRoleBinding hcp-node-agent-api-server",
			}
			if len(changes) != before+4 || !slices.Equal(created, want) {
				t.Errorf("%s, dry run %t: %d objects, created %v", in, isDryRun, len(changes), created)
			}
		}
		checkResults(t, c.install(t, change), Unchanged, before+4)
		if _, _, err := c.installer(t, nil).Uninstall(t.Context(), true, false); err != nil {
			t.Fatal(err)
		}
		if left := c.objects(); !slices.Equal(left, []string{"Namespace/openshift-config"}) {
			t.Errorf("%s: left are %v", in, left)
		}
	}
}
