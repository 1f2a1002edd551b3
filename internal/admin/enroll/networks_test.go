// SPDX-License-Identifier: Apache-2.0

package enroll

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/test/apitest"
)

// describeNetworks returns networks in the form "pods 10.132.0.0/14, join 100.64.0.0/16".
func describeNetworks(networks []enrollment.ClusterNetwork) string {
	var texts []string
	for _, network := range networks {
		texts = append(texts, fmt.Sprintf("%s %s", network.Use, network.CIDR))
	}
	return strings.Join(texts, ", ")
}

// The join token contains the networks of the cluster as far as the administrator can read them.
func TestTokenContainsNetworks(t *testing.T) {
	const four = `
  clusterNetwork: [{cidr: 10.132.0.0/14, hostPrefix: 23}]
  serviceNetwork: [172.31.0.0/16]
`
	for name, test := range map[string]struct {
		spec   string
		before error
		want   string
	}{
		"defaults of OVN-Kubernetes": {
			spec: four + "  defaultNetwork: {type: OVNKubernetes}",
			want: "pods 10.132.0.0/14, services 172.31.0.0/16, join 100.64.0.0/16, transit 100.88.0.0/16",
		},
		"configured networks of OVN-Kubernetes": {
			spec: four + `  defaultNetwork:
    type: OVNKubernetes
    ovnKubernetesConfig:
      v4InternalSubnet: 100.60.0.0/16
      ipv4: {internalJoinSubnet: 100.65.0.0/16, internalTransitSwitchSubnet: 100.89.0.0/16}
      gatewayConfig: {ipv4: {internalMasqueradeSubnet: 169.254.0.0/17}}`,
			want: "pods 10.132.0.0/14, services 172.31.0.0/16, join 100.65.0.0/16, transit 100.89.0.0/16, " +
				"masquerade 169.254.0.0/17",
		},
		"the former field of the join network": {
			spec: four + "  defaultNetwork: {type: OVNKubernetes, ovnKubernetesConfig: {v4InternalSubnet: 100.60.0.0/16}}",
			want: "pods 10.132.0.0/14, services 172.31.0.0/16, join 100.60.0.0/16, transit 100.88.0.0/16",
		},
		"IPv6": {
			spec: `
  clusterNetwork: [{cidr: 'fd01::/48', hostPrefix: 64}]
  serviceNetwork: ['fd02::/112']
  defaultNetwork:
    type: OVNKubernetes
    ovnKubernetesConfig:
      ipv6: {internalTransitSwitchSubnet: 'fd96::/64'}
      gatewayConfig: {ipv6: {internalMasqueradeSubnet: 'fd69::/112'}}`,
			want: "pods fd01::/48, services fd02::/112, join fd98::/64, transit fd96::/64, masquerade fd69::/112",
		},
		"another network plugin": {
			spec: four + "  defaultNetwork: {type: Calico}", want: "pods 10.132.0.0/14, services 172.31.0.0/16",
		},
		"invalid and repeated networks": {
			spec: `
  clusterNetwork: [{cidr: ''}, {cidr: 10.132.0.1/14}, {cidr: 10.132.0.0/14}, {cidr: '::ffff:10.0.0.0/104'}]
  serviceNetwork: [none]`,
			want: "pods 10.132.0.0/14",
		},
		"no such object": {},
		"no permission":  {spec: four, before: apitest.Forbidden()},
		"a failure":      {spec: four, before: apierrors.NewInternalError(errors.New("no etcd"))},
	} {
		t.Run(name, func(t *testing.T) {
			h := startHostedCluster(t)
			h.Server = apitest.Start(t, apitest.Enrollments, apitest.OpenShift)
			opened, err := cluster.Open(cluster.Hosted, h.Config())
			if err != nil {
				t.Fatal(err)
			}
			if h.cluster, err = newCluster(t.Context(), opened); err != nil {
				t.Fatal(err)
			}
			if test.spec != "" {
				object := &unstructured.Unstructured{}
				content := "apiVersion: operator.openshift.io/v1\nkind: Network\nmetadata: {name: cluster}\nspec:" + test.spec
				if err := yaml.Unmarshal([]byte(content), &object.Object); err != nil {
					t.Fatal(err)
				}
				h.Set(t, object)
			}
			if test.before != nil {
				h.Before = apitest.Reject(http.MethodGet, "/networks/cluster", test.before)
			}
			if state, found := h.mustEnroll(t, "worker-1", nil); state != Created || found != "" {
				t.Errorf("%s, %s", state, found)
			}
			if got := describeNetworks(h.token(t, h.tokenPath("worker-1")).Networks); got != test.want {
				t.Errorf("%s; want %s", got, test.want)
			}
		})
	}
}

// A cluster without the API of OpenShift has no networks to read.
func TestTokenOfKubernetesContainsNoNetworks(t *testing.T) {
	h := startHostedCluster(t)
	h.mustEnroll(t, "worker-1", nil)
	if networks := h.token(t, h.tokenPath("worker-1")).Networks; networks != nil {
		t.Errorf("networks %v", networks)
	}
}
