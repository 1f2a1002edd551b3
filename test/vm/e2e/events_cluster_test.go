// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/keyutil"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// testNamesAndRegistryGone makes DNS and the registry unreachable while the service starts, which then
// opens new connections.
func testNamesAndRegistryGone(ctx context.Context, t *testing.T) {
	registry, _, _ := strings.Cut(environment.ControlPlane.Registry, ":")
	mustOutput(ctx, t,
		`cp /etc/resolv.conf /etc/hosts /root/ && echo nameserver 127.0.0.9 >/etc/resolv.conf && echo 127.0.0.9 `+registry+
			` >>/etc/hosts
		systemctl restart hcp-node-agent`)
	name := "the name " + apiEndpoint(t).Hostname() + " cannot be resolved"
	awaitLog(ctx, t, name)
	awaitLog(ctx, t, "no service listens at "+environment.ControlPlane.Registry)
	mustOutput(ctx, t,
		"cat /root/resolv.conf >/etc/resolv.conf; cat /root/hosts >/etc/hosts; rm /root/hosts /root/resolv.conf")
	awaitResolved(ctx, t, name)
	awaitResolved(ctx, t, "no service listens at "+registry)
}

// testDiskFull fills the disk until kubelet reports that too little space is left, and frees it.
func testDiskFull(ctx context.Context, t *testing.T) {
	const pressure = "kubelet evicts pods because a disk is nearly full"
	mustOutput(ctx, t, "fallocate -l $(($(df --output=avail -B1 / | tail -1) - 100000000)) /var/tmp/fill")
	awaitLog(ctx, t, pressure)
	mustOutput(ctx, t, "rm /var/tmp/fill")
	awaitResolved(ctx, t, pressure)
	awaitReadyNode(ctx, t)
}

// changingCluster is the cluster of a joined node whose payload changes.
type changingCluster struct {
	payload testenv.Payload
}

// addCA adds a new CA to a file of the payload, and returns it.
func (c *changingCluster) addCA(t *testing.T, path, name string) *certtest.CA {
	t.Helper()
	ca := certtest.NewCA(t, name)
	c.payload.SetFile(path, fileContent(t, c.payload, path)+string(ca.PEM))
	return ca
}

// startTimes returns when the services started, and the running containers.
func startTimes(ctx context.Context, t *testing.T) string {
	t.Helper()
	return mustOutput(ctx, t, "systemctl show -P ExecMainStartTimestampMonotonic kubelet crio; "+containersCommand)
}

// testPullSecretReplaced makes the registry refuse the node's pull secret, and adds a CA of kubelet's clients.
// A join renews both without a restart.
func (c *changingCluster) testPullSecretReplaced(ctx context.Context, t *testing.T) {
	secret, err := environment.ControlPlane.RotatePullSecret(ctx)
	must(t, err)
	mustOutput(ctx, t, "systemctl restart hcp-node-agent") // it pulls at its start, and then every 6 hours
	awaitLog(ctx, t, "rejects this node")
	started := startTimes(ctx, t)

	c.payload.SetFile("/var/lib/kubelet/config.json", string(secret))
	ca := c.addCA(t, "/etc/kubernetes/kubelet-ca.crt", "new-client-signer")
	key := certtest.NewKey(t)
	certificate := ca.Issue(t, key, &x509.Certificate{
		Subject:     pkix.Name{CommonName: "client", Organization: []string{"system:masters"}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	must(t, environment.Machine.Put(ctx, "/root/client.pem",
		strings.NewReader(string(certificate)+string(certtest.KeyPEM(t, key))), 0o600))
	const request = "curl -sk -o /dev/null -w '%{http_code}' --cert /root/client.pem https://127.0.0.1:10250/pods"
	if code := mustOutput(ctx, t, request); code != "401" {
		t.Errorf("kubelet responds with %s to a client of another CA", code)
	}
	serve(ctx, t, c.payload)
	checkContains(t, runAgent(ctx, t, report.Success, "join --user-data "+testenv.UserDataPath).Stdout,
		"is Ready and schedulable")
	await(ctx, t, "test $("+request+") = 200")
	awaitResolved(ctx, t, "rejects this node")
	if now := startTimes(ctx, t); now != started {
		t.Errorf("services or containers were restarted:\n%s\nbefore:\n%s", now, started)
	}
	mustOutput(ctx, t, "rm /root/client.pem")
}

// testCAPublished publishes a new CA of the API server, as before its rotation. The service adds it to
// those that kubelet trusts, and a repeated join keeps it.
func (c *changingCluster) testCAPublished(ctx context.Context, t *testing.T) {
	next := certtest.NewCA(t, "root-ca").PEM
	defer runPodWithCAs(ctx, t)()
	must(t, environment.ControlPlane.PublishCAs(ctx, next))
	awaitPublished(ctx, t, next)
	mustOutput(ctx, t, "systemctl restart hcp-node-agent") // it checks the CAs at its start, and then every five minutes
	await(ctx, t, logged("the cluster has a new CA that this node does not trust"))
	awaitLog(ctx, t, "repaired: kubelet trusts the new CAs of the cluster")
	awaitResolved(ctx, t, "the cluster has a new CA that this node does not trust")
	checkContains(t, runAgent(ctx, t, report.Success, "join").Stdout, "nothing was changed")
	n := mustOutput(ctx, t,
		"sed -n 's/.*certificate-authority-data: //p' /var/lib/kubelet/kubeconfig | base64 -d | grep -c BEGIN")
	if n != "2" {
		t.Errorf("kubelet trusts %s CAs", n)
	}
	awaitReadyNode(ctx, t)
	c.editKubeconfig(t, func(cluster *clientcmdapi.Cluster) {
		cluster.CertificateAuthorityData = append(cluster.CertificateAuthorityData, next...)
	})
}

const networkNamespace = "openshift-ovn-kubernetes"

// runPodWithCAs runs a pod that mounts the CAs of the API server, as those of OVN-Kubernetes do, and returns a
// function that deletes it. A node can read the CAs only in the namespace of such a pod.
func runPodWithCAs(ctx context.Context, t *testing.T) func() {
	t.Helper()
	pods, grace := environment.Client.CoreV1().Pods(networkNamespace), int64(1)
	_, err := pods.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "with-cas"},
		Spec: corev1.PodSpec{
			NodeName: testenv.NodeName, HostNetwork: true, TerminationGracePeriodSeconds: &grace,
			Containers: []corev1.Container{{Name: "main", Image: environment.ControlPlane.WorkloadImage}},
		},
	}, metav1.CreateOptions{})
	must(t, err)
	return func() {
		must(t, pods.Delete(ctx, "with-cas", metav1.DeleteOptions{}))
		waittest.Until(t, "waiting for the end of the pod", func() (any, bool) {
			pod, err := pods.Get(ctx, "with-cas", metav1.GetOptions{})
			return fmt.Sprint(pod.Status, err), apierrors.IsNotFound(err)
		})
	}
}

// awaitPublished waits until the cluster publishes a CA to the pods of the network plugin.
func awaitPublished(ctx context.Context, t *testing.T, ca []byte) {
	t.Helper()
	waittest.UntilText(t, string(ca), func() string {
		bundle, err := environment.Client.CoreV1().ConfigMaps(networkNamespace).Get(ctx, "kube-root-ca.crt",
			metav1.GetOptions{})
		must(t, err)
		return bundle.Data["ca.crt"]
	})
}

// trustStore is the bundle of CAs that the programs of the machine trust.
const trustStore = "/etc/ssl/certs/ca-certificates.crt"

// testCAsRenewed adds a CA of the API server and a trusted CA. A join restarts CRI-O and kubelet, and
// keeps the containers.
func (c *changingCluster) testCAsRenewed(ctx context.Context, t *testing.T) {
	pods := mustOutput(ctx, t, containersCommand)
	trusted := c.addCA(t, "/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt", "registry")
	added := certtest.NewCA(t, "root-ca")
	c.editKubeconfig(t, func(cluster *clientcmdapi.Cluster) {
		cluster.CertificateAuthorityData = append(cluster.CertificateAuthorityData, added.PEM...)
	})
	serve(ctx, t, c.payload)
	checkContains(t, runAgent(ctx, t, report.Success, "join --user-data "+testenv.UserDataPath).Stdout,
		"updated the API server's URL and CAs in kubelet's kubeconfig")
	if now := mustOutput(ctx, t, containersCommand); now != pods {
		t.Errorf("the containers are %q, before: %q", now, pods)
	}
	checkContains(t, mustOutput(ctx, t, "cat "+trustStore), strings.TrimSpace(string(trusted.PEM)))
	awaitReadyNode(ctx, t)
}

// testEndpointChanged moves the API server to another name. An upgrade changes the URL for kubelet and for
// the proxy of the pods, without a drain.
func (c *changingCluster) testEndpointChanged(ctx context.Context, t *testing.T) {
	before, after := apiEndpoint(t).Hostname(), internalName(t)
	c.moveAPIServer(t, before, after)
	serve(ctx, t, c.payload)
	proxy := mustOutput(ctx, t, "pgrep -x haproxy")
	checkContains(t, runAgent(ctx, t, report.Success, "plan --user-data "+testenv.UserDataPath).Stdout,
		"the node is not drained", "restart static pod: ")
	runAgent(ctx, t, report.Success, upgradeCommand)
	checkContains(t, mustOutput(ctx, t, "grep server: /var/lib/kubelet/kubeconfig"), after)
	await(ctx, t, "pgrep -x haproxy | grep -vx "+proxy)
	awaitReadyNode(ctx, t)
	awaitLog(ctx, t, "the agent has changed this host; repeating all checks")
}

// internalName returns another name of the API server.
func internalName(t *testing.T) string {
	t.Helper()
	return strings.Replace(apiEndpoint(t).Hostname(), "api.", "api-int.", 1)
}

// moveAPIServer changes the name of the API server in the payload.
func (c *changingCluster) moveAPIServer(t *testing.T, before, after string) {
	t.Helper()
	c.editKubeconfig(t, func(cluster *clientcmdapi.Cluster) {
		cluster.Server = strings.Replace(cluster.Server, before, after, 1)
	})
	for _, path := range []string{
		"/etc/kubernetes/apiserver-proxy-config/haproxy.cfg", "/etc/kubernetes/apiserver-url.env",
	} {
		c.payload.SetFile(path, strings.ReplaceAll(fileContent(t, c.payload, path), before, after))
	}
}

// testOtherNodePool joins with the user data of another NodePool, which is refused.
func testOtherNodePool(ctx context.Context, t *testing.T) {
	mustOutput(ctx, t,
		`jq '(.ignition.config.merge[].httpHeaders[] | select(.name == "NodePool") | .value) = "clusters/other"' `+
			testenv.UserDataPath+` >/root/other.ign`)
	for _, command := range []string{"join", "upgrade"} {
		refused := runAgent(ctx, t, report.Refused, command+" --user-data /root/other.ign")
		checkContains(t, refused.Stdout+refused.Stderr, "clusters/other", "hcp-node-agent leave",
			"join --user-data /root/other.ign")
	}
	mustOutput(ctx, t, "rm /root/other.ign")
}

// testExpiredWhileOff replaces kubelet's client certificate by one that expires while the host is off. With
// current user data the host gets the same identity again, without a leave, and without a person,
// because of its enrollment.
func (c *changingCluster) testExpiredWhileOff(ctx context.Context, t *testing.T) {
	const current = "/var/lib/kubelet/pki/kubelet-client-current.pem"
	before, err := environment.Client.CoreV1().Nodes().Get(ctx, testenv.NodeName, metav1.GetOptions{})
	must(t, err)
	parsed, err := keyutil.ParsePrivateKeyPEM([]byte(mustOutput(ctx, t,
		"systemctl stop hcp-node-agent kubelet; cat "+current)))
	must(t, err)
	key, isECDSA := parsed.(*ecdsa.PrivateKey)
	if !isECDSA {
		t.Fatalf("the key is a %T", parsed)
	}
	expired := kubetest.Signer(t).Issue(t, key, &x509.Certificate{
		Subject:     pkix.Name{CommonName: "system:node:" + testenv.NodeName, Organization: []string{"system:nodes"}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		NotBefore:   time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Second),
	})
	must(t, environment.Machine.Put(ctx, "/root/expired.pem",
		strings.NewReader(string(expired)+string(certtest.KeyPEM(t, key))), 0o600))
	mustOutput(ctx, t, "cat /root/expired.pem >"+current+" && rm /root/expired.pem && sync")
	must(t, environment.Machine.PowerOff(ctx))
	awaitNodeLost(ctx, t)
	must(t, environment.Machine.Boot(ctx))
	must(t, environment.Machine.WaitSSH(ctx))

	checkContains(t, runAgent(ctx, t, report.Failed, "doctor").Stdout, "client certificate", "expired", "join --user-data")
	serve(ctx, t, c.payload)
	checkContains(t, runAgent(ctx, t, report.Success, "join --user-data "+testenv.UserDataPath).Stdout,
		"is Ready and schedulable")
	after, err := environment.Client.CoreV1().Nodes().Get(ctx, testenv.NodeName, metav1.GetOptions{})
	must(t, err)
	if before.UID != after.UID {
		t.Error("the Node is another one than before")
	}
}

// awaitNodeLost waits until the cluster has noticed that the node does not report any more.
func awaitNodeLost(ctx context.Context, t *testing.T) {
	t.Helper()
	waittest.Until(t, "waiting for the Node to be lost", func() (any, bool) {
		node, err := environment.Client.CoreV1().Nodes().Get(ctx, testenv.NodeName, metav1.GetOptions{})
		must(t, err)
		ready := kube.NodeCondition(node, corev1.NodeReady)
		return ready, ready != nil && ready.Status == corev1.ConditionUnknown
	})
}

// editKubeconfig changes the cluster of the payload's bootstrap kubeconfig.
func (c *changingCluster) editKubeconfig(t *testing.T, edit func(*clientcmdapi.Cluster)) {
	t.Helper()
	config, err := clientcmd.Load([]byte(fileContent(t, c.payload, ignition.BootstrapKubeconfigPath)))
	must(t, err)
	for _, cluster := range config.Clusters {
		edit(cluster)
	}
	content, err := clientcmd.Write(*config)
	must(t, err)
	c.payload.SetFile(ignition.BootstrapKubeconfigPath, string(content))
}
