// SPDX-License-Identifier: Apache-2.0

package publisher

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/nodepool"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

const (
	namespace    = "clusters"                             // of the HostedCluster and the NodePools
	controlPlane = "clusters-hosted-a"                    // namespace of the hosted control plane
	firstToken   = "7e5b7b9e-8e0e-4d5b-9f4b-0d3c5a1e2f30" //nolint:gosec // of the test
	remedy       = "# renew the credential"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// encodeUserData returns user data with a token, and with the CA of the ignition server.
func encodeUserData(t *testing.T, ca []byte, token string) []byte {
	t.Helper()
	userData, err := ignition.NewUserData(ignition.Values{
		Endpoint: "ignition.example.com", Token: []byte(token), CA: ca, NodePool: "clusters/workers", Hash: "844282c1",
	})
	check(t, err)
	content, err := userData.Encode()
	check(t, err)
	return content
}

// publisherTest is a publisher with the objects of its clusters, what it has logged, and what it has recorded.
type publisherTest struct {
	*testing.T
	*Publisher
	pools    []*nodepool.NodePool // of the management cluster, each with valid user data
	cluster  *nodepool.HostedCluster
	userData []byte
	hosted   client.WithWatch
	recorder *events.FakeRecorder
	logged   []entry
	recorded map[string]time.Time
}

func newPublisherTest(t *testing.T, published ...client.Object) *publisherTest {
	t.Helper()
	p := &publisherTest{
		T: t, pools: []*nodepool.NodePool{newPool("workers")}, cluster: &nodepool.HostedCluster{},
		userData: encodeUserData(t, certtest.NewCA(t, "ignition-root-ca").PEM, firstToken),
		hosted:   fake.NewClientBuilder().WithObjects(published...).Build(),
		recorder: events.NewFakeRecorder(100), recorded: map[string]time.Time{},
	}
	p.cluster.Status.IgnitionEndpoint = "ignition.example.com"
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	management, err := cluster.Open(cluster.Management, &rest.Config{Host: server.URL})
	check(t, err)
	p.Publisher = &Publisher{
		Management: management, Namespace: namespace, HostedCluster: "hosted-a", CredentialRemedy: remedy,
		Hosted: p.hosted, Live: p.hosted, Events: p.recorder,
		Log: funcr.NewJSON(func(line string) {
			var one entry
			check(t, json.Unmarshal([]byte(line), &one))
			p.logged = append(p.logged, one)
		}, funcr.Options{}),
		Record:   func(nodePool string, at time.Time) { p.recorded[nodePool] = at },
		known:    sets.New[string](),
		missing:  sets.New[string](),
		reported: map[string]string{},
	}
	return p
}

// entry is a line of the log.
type entry struct {
	Message  string `json:"msg"`
	NodePool string `json:"nodePool"`
	Error    string `json:"error"`
	Remedy   string `json:"remedy"`
}

func newPool(name string) *nodepool.NodePool {
	pool := &nodepool.NodePool{}
	pool.Namespace, pool.Name = namespace, name
	pool.Annotations = map[string]string{"hypershift.openshift.io/nodePoolCurrentConfigVersion": "844282c1"}
	pool.Spec.ClusterName, pool.Spec.Platform.Type = "hosted-a", nodepool.PlatformNone
	pool.Status.Version = "4.20.3"
	return pool
}

// ServeHTTP responds as the API server of the management cluster.
func (p *publisherTest) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const api = "/apis/hypershift.openshift.io/v1beta1/namespaces/" + namespace + "/"
	const secrets = "/api/v1/namespaces/" + controlPlane + "/secrets/"
	pools := []any{}
	for _, pool := range p.pools {
		pools = append(pools, p.withKind("NodePool", pool))
	}
	objects := map[string]any{api + "nodepools": p.withKind("NodePoolList", map[string]any{"items": pools})}
	if p.cluster != nil {
		objects[api+"hostedclusters/hosted-a"] = p.withKind("HostedCluster", p.cluster)
	}
	kind := metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}
	for _, pool := range p.pools {
		if p.userData == nil {
			break
		}
		objects[secrets+"user-data-"+pool.Name+"-844282c1"] = &corev1.Secret{
			TypeMeta: kind, Data: map[string][]byte{"value": p.userData},
		}
		objects[secrets+"token-"+pool.Name+"-844282c1"] = &corev1.Secret{
			TypeMeta: kind, Data: map[string][]byte{"token": []byte(firstToken)},
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
				"hypershift.openshift.io/last-token-generation-time": "2100-01-01T00:00:00Z",
			}},
		}
	}
	w.Header().Set("Content-Type", "application/json")
	object, exists := objects[r.URL.Path]
	if !exists {
		object = metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
			Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound,
		}
		w.WriteHeader(http.StatusNotFound)
	}
	if err := json.NewEncoder(w).Encode(object); err != nil {
		p.Error(err)
	}
}

// withKind returns an object of HyperShift in JSON.
func (p *publisherTest) withKind(kind string, object any) map[string]any {
	content, err := json.Marshal(object)
	check(p.T, err)
	fields := map[string]any{}
	check(p.T, json.Unmarshal(content, &fields))
	fields["apiVersion"], fields["kind"] = "hypershift.openshift.io/v1beta1", kind
	return fields
}

// published returns the Secret of a NodePool in the hosted cluster, nil if it does not exist.
func (p *publisherTest) published(pool string) *corev1.Secret {
	p.Helper()
	secret := newSecret(pool)
	err := p.hosted.Get(p.Context(), client.ObjectKeyFromObject(secret), secret)
	if client.IgnoreNotFound(err) != nil {
		p.Fatal(err)
	}
	if err != nil {
		return nil
	}
	return secret
}

// text returns the content of the Secret of the NodePool workers, "" if it does not exist.
func (p *publisherTest) text() string {
	p.Helper()
	secret := p.published("workers")
	if secret == nil {
		return ""
	}
	data := string(secret.Data[v1alpha1.UserDataKey])
	if data == string(p.userData) {
		data = "new"
	}
	return data + " " + strings.ReplaceAll(fmt.Sprint(secret.Annotations), "hcp-node-agent.io/", "")
}

// oldSecret returns the Secret of a NodePool that a publisher has created.
func oldSecret(pool string) *corev1.Secret {
	secret := newSecret(pool)
	secret.Labels = map[string]string{
		v1alpha1.LabelNodePool: pool, v1alpha1.LabelManagedBy: v1alpha1.ManagedByPublisher,
	}
	secret.Annotations = map[string]string{
		v1alpha1.AnnotationPoolConfig: "1", v1alpha1.AnnotationPoolProblem: "1", "a": "b",
	}
	secret.Data = map[string][]byte{v1alpha1.UserDataKey: []byte("old")}
	return secret
}
