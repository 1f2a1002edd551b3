// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package publisher

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/hypershift"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
	"github.com/hcp-node-agent/hcp-node-agent/test/rights"
)

const secondToken = "0c0f3f6a-1d2b-4c3a-8b7a-9e8d7c6b5a41" //nolint:gosec // of the test

// clusters are a real management cluster with HyperShift's resources and a real hosted cluster.
type clusters struct {
	objects            hypershift.Cluster
	management, hosted client.Client // of administrators
	proxy              *csrtest.Proxy
	managementConfig   *rest.Config // of the service account of deploy/management-publish, through the proxy
	hostedConfig       *rest.Config // of the service account of deploy/hosted-base
	ca                 []byte       // of the ignition server
}

func startClusters(t *testing.T) *clusters {
	t.Helper()
	c := &clusters{ca: certtest.NewCA(t, "ignition-root-ca").PEM}
	kubetest.Plane = kubetest.StartPlane(t, "")
	for _, file := range []string{"hosted-base/namespace.yaml", "hosted-base/rbac.yaml", "hosted-publish/rbac.yaml"} {
		check(t, rights.Grant(t.Context(), kubetest.AdminClient(t), file))
	}
	c.hosted = newClient(t, csrtest.Config(t, kubetest.Plane.Kubeconfig))
	c.hostedConfig = c.account(t, "https://"+kubetest.Plane.APIForward)

	kubetest.Plane = kubetest.StartPlane(t, "") // the proxy and the helpers use it from now on
	c.management = newClient(t, csrtest.Config(t, kubetest.Plane.Kubeconfig))
	c.createManagementObjects(t)
	c.proxy = csrtest.NewProxy(t)
	c.managementConfig = c.account(t, c.proxy.Server())
	return c
}

// account returns the configuration of the service account of the controller.
func (*clusters) account(t *testing.T, server string) *rest.Config {
	t.Helper()
	content, err := rights.NewKubeconfig(t.Context(), kubetest.AdminClient(t), rights.Controller,
		kubetest.Plane.Kubeconfig, server)
	check(t, err)
	config, err := clientcmd.RESTConfigFromKubeConfig(content)
	check(t, err)
	return config
}

func newClient(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	c, err := client.New(config, client.Options{})
	check(t, err)
	return c
}

// createManagementObjects creates what HyperShift creates, and the objects of deploy/management-publish for it.
func (c *clusters) createManagementObjects(t *testing.T) {
	t.Helper()
	cluster := hypershift.Cluster{Kubeconfig: kubetest.Plane.Kubeconfig}
	c.objects = cluster
	check(t, cluster.Define(t.Context()))
	check(t, cluster.Apply(t.Context(), c.state(t, "workers", firstToken)))
	documents, err := rights.Documents("management-publish/rbac.yaml")
	check(t, err)
	names := strings.NewReplacer("clusters-hosted", controlPlane, "[hosted]", "[hosted-a]")
	manifest := names.Replace(strings.Join(documents, "\n---\n"))
	_, err = cluster.Run(t.Context(), "", "create", "namespace", v1alpha1.Namespace)
	check(t, err)
	_, err = cluster.Run(t.Context(), manifest, "apply", "-f", "-")
	check(t, err)
}

// userData returns user data with a token.
func (c *clusters) userData(t *testing.T, token string) []byte {
	t.Helper()
	return encodeUserData(t, c.ca, token)
}

// state returns the state of a NodePool.
func (c *clusters) state(t *testing.T, pool, token string) hypershift.State {
	t.Helper()
	return hypershift.State{
		NodePool: pool, Endpoint: "ignition.example.com", Token: token, UserData: c.userData(t, token),
		Config: "844282c1", Release: "4.20.3",
	}
}

// setToken replaces the token and the user data of the NodePool workers, as HyperShift does.
func (c *clusters) setToken(t *testing.T, token string) {
	t.Helper()
	check(t, c.objects.ReplaceSecrets(t.Context(), c.state(t, "workers", token)))
}

// createPool creates a NodePool with valid user data.
func (c *clusters) createPool(t *testing.T, name, hostedCluster string) {
	t.Helper()
	state := c.state(t, name, firstToken)
	state.HostedCluster = hostedCluster
	check(t, c.objects.ApplyNodePool(t.Context(), state))
}

func (c *clusters) pool(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	pool := &unstructured.Unstructured{}
	pool.SetAPIVersion("hypershift.openshift.io/v1beta1")
	pool.SetKind("NodePool")
	check(t, c.management.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, pool))
	return pool
}
