// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/node/pods"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/rights"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// configNamespace is the namespace in which HyperShift publishes the pull secret and the trust bundle.
const configNamespace = "openshift-config"

// testPullSecretRenewed makes the registry refuse the node's pull secret, and publishes a new one in the cluster. The
// service renews that of the node without a restart. A repeated join keeps it.
func (c *changingCluster) testPullSecretRenewed(ctx context.Context, t *testing.T) {
	secret, err := environment.ControlPlane.RotatePullSecret(ctx)
	must(t, err)
	started := startTimes(ctx, t)
	_, err = environment.Client.CoreV1().Namespaces().Create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: configNamespace}}, metav1.CreateOptions{})
	must(t, err)
	must(t, rights.Grant(ctx, environment.Client, "hosted-renewals/rbac.yaml"))
	_, err = environment.Client.CoreV1().Secrets(configNamespace).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "pull-secret"}, Type: corev1.SecretTypeDockerConfigJson,
		Data: map[string][]byte{corev1.DockerConfigJsonKey: secret},
	}, metav1.CreateOptions{})
	must(t, err)
	const outdated = "the pull secret of the cluster was changed, and the node does not use the new one"
	awaitLog(ctx, t, outdated)
	awaitLog(ctx, t, "repaired: the pull secret was renewed: kubelet and CRI-O use that of the cluster")
	awaitResolved(ctx, t, outdated)
	if now := mustOutput(ctx, t, "cat "+pods.PullSecretPath); now != string(secret) {
		t.Error("the node has another pull secret than the cluster")
	}
	checkEvent(ctx, t, corev1.EventTypeNormal, "PullSecretOutdatedRepaired", "the pull secret was renewed")
	checkContains(t, runAgent(ctx, t, report.Success, "join").Stdout, "nothing was changed")
	if now := startTimes(ctx, t); now != started {
		t.Errorf("services or containers were restarted:\n%s\nbefore:\n%s", now, started)
	}
	c.payload.SetFile(pods.PullSecretPath, string(secret)) // as HyperShift does, for the next join
}

// testTrustBundleRenewed adds a CA to the trust bundle of the cluster. The service adds it to those of the host.
func testTrustBundleRenewed(ctx context.Context, t *testing.T) {
	ca := certtest.NewCA(t, "additional-ca")
	_, err := environment.Client.CoreV1().ConfigMaps(configNamespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "user-ca-bundle"}, Data: map[string]string{"ca-bundle.crt": string(ca.PEM)},
	}, metav1.CreateOptions{})
	must(t, err)
	awaitLog(ctx, t, "the trust bundle of the cluster has new CAs that this node does not trust")
	awaitLog(ctx, t, "repaired: CRI-O trusts the new CAs of the cluster's trust bundle")
	checkContains(t, runAgent(ctx, t, report.Success, "join").Stdout, "nothing was changed")
}

// infrastructures is the kind of OpenShift that names the API server.
const infrastructures = `{
	"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {
		"name": "infrastructures.config.openshift.io",
		"annotations": {"api-approved.kubernetes.io": "unapproved, for a test"}
	},
	"spec": {
		"group": "config.openshift.io", "scope": "Cluster",
		"names": {"plural": "infrastructures", "kind": "Infrastructure"},
		"versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
			"type": "object", "x-kubernetes-preserve-unknown-fields": true
		}}}]
	}
}`

// testAPIServerMoved publishes another name of the API server in the cluster. The service makes kubelet and the proxy
// of the pods use it.
func (c *changingCluster) testAPIServerMoved(ctx context.Context, t *testing.T) {
	former, next := internalName(t), apiEndpoint(t)
	proxy := mustOutput(ctx, t, "pgrep -x haproxy")
	create := func(path, object string) error {
		return environment.Client.Discovery().RESTClient().Post().AbsPath(path).SetHeader("Content-Type",
			"application/json").Body([]byte(object)).Do(ctx).Error()
	}
	must(t, create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", infrastructures))
	infrastructure := fmt.Sprintf(`{"apiVersion": "config.openshift.io/v1", "kind": "Infrastructure",
		"metadata": {"name": "cluster"}, "status": {"apiServerInternalURL": %q, "apiServerURL": %[1]q}}`, next)
	waittest.Until(t, "waiting for the kind Infrastructure", func() (any, bool) {
		err := create("/apis/config.openshift.io/v1/infrastructures", infrastructure)
		return err, err == nil
	})
	const moved = "the API server of the cluster has moved from https://"
	awaitLog(ctx, t, moved+former)
	awaitLog(ctx, t, "repaired: the node uses the API server "+next.String()+" in place of https://"+former)
	awaitResolved(ctx, t, moved+former)
	used := mustOutput(ctx, t, "sed -n 's/^ *server: //p' /var/lib/kubelet/kubeconfig")
	if used != next.String() {
		t.Errorf("kubelet uses %s", used)
	}
	await(ctx, t, "pgrep -x haproxy | grep -vx "+proxy)
	awaitReadyNode(ctx, t)
	c.moveAPIServer(t, former, next.Hostname()) // as HyperShift does, for the next join
}
