//go:build controlplane

package approver

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/cert"

	"github.com/hcp-node-agent/hcp-node-agent/internal/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ticket"
	"github.com/hcp-node-agent/hcp-node-agent/test/rights"
)

// fleetKubeconfig has the rights of deploy/approver-rbac.yaml, and no others.
var fleetKubeconfig []byte

// grantRights applies deploy/approver-rbac.yaml and gets its credential.
func grantRights(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", plane.Kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if err := rights.Grant(ctx, client); err != nil {
		return err
	}
	fleetKubeconfig, err = rights.Kubeconfig(ctx, client, plane.Kubeconfig, "https://"+plane.APIForward)
	return err
}

// scene is a directory of claims, and what approvers of it have told.
type scene struct {
	t      *testing.T
	claims string
	mu     sync.Mutex
	all    []Told
}

func newScene(t *testing.T) *scene { return &scene{t: t, claims: t.TempDir()} }

func (s *scene) told() []Told {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all)
}

// of gives what was told last of a CSR.
func (s *scene) of(csr string) Told {
	var last Told
	for _, told := range s.told() {
		if told.CSR == csr {
			last = told
		}
	}
	return last
}

func (s *scene) approver(kubeconfig []byte) *Approver {
	s.t.Helper()
	a, err := Open(Options{
		Kubeconfig: kubeconfig, Claims: s.claims, Namespace: DefaultNamespace, ConfigMap: DefaultConfigMap,
		Tell: func(told Told) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.all = append(s.all, told)
		},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

// once runs an approver over all that is there, as a restart does.
func (s *scene) once() {
	s.t.Helper()
	if err := s.approver(fleetKubeconfig).Once(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

// ticket makes a ticket that was given out a while ago, and puts its claim
// where approvers find it.
func (s *scene) ticket(name string, ca []byte, ago time.Duration, addresses ...string) *ticket.Ticket {
	s.t.Helper()
	wish := ticket.Wish{NodeName: name, ClusterCA: ca, Lifetime: time.Hour}
	for _, address := range addresses {
		wish.Addresses = append(wish.Addresses, netip.MustParseAddr(address))
	}
	made, claim, err := ticket.New(wish, time.Now().Add(-ago))
	if err != nil {
		s.t.Fatal(err)
	}
	content, err := claim.Encode()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.claims, name+"-"+claim.ID+ticket.ClaimSuffix), content, 0o600); err != nil {
		s.t.Fatal(err)
	}
	return made
}

// clusterCA is the real one.
func clusterCA(t *testing.T) []byte {
	t.Helper()
	content, err := os.ReadFile(plane.ClusterCA)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// prove gives the annotations by which a key is proven, in the cluster of ca.
func prove(t *testing.T, made *ticket.Ticket, ca []byte, key crypto.PublicKey) map[string]string {
	t.Helper()
	cluster, err := ticket.Authorities(ca)
	if err != nil {
		t.Fatal(err)
	}
	annotations, err := made.Prove(cluster, key)
	if err != nil {
		t.Fatal(err)
	}
	return annotations
}

// asked is a client CSR as join makes it, to be spoilt.
type asked struct {
	who         kubernetes.Interface
	key         *ecdsa.PrivateKey
	node        string
	annotations map[string]string
	usages      []certificatesv1.KeyUsage
	names       []string
	name        string // of the CSR; "" for one of the server's making
}

func (a asked) submit(t *testing.T) string {
	t.Helper()
	subject := nodeSubject(a.node)
	request, err := cert.MakeCSR(a.key, &subject, a.names, nil)
	if err != nil {
		t.Fatal(err)
	}
	if a.usages == nil {
		a.usages = []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth}
	}
	csr, err := a.who.CertificatesV1().CertificateSigningRequests().Create(t.Context(), &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: a.name, GenerateName: "node-csr-", Annotations: a.annotations},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: request, SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName, Usages: a.usages,
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return csr.Name
}

// comeIn submits a node's client CSR with its ticket.
func comeIn(t *testing.T, made *ticket.Ticket) (csr string, key *ecdsa.PrivateKey) {
	t.Helper()
	key = certtest.NewKey(t)
	return asked{
		who: bootstrapClient(t), key: key, node: made.NodeName, name: ownName(t, key, made.NodeName),
		annotations: prove(t, made, clusterCA(t), &key.PublicKey),
	}.submit(t), key
}

// ownName returns the name that join gives a node's client CSR.
func ownName(t *testing.T, key *ecdsa.PrivateKey, node string) string {
	t.Helper()
	name, err := ticket.ClientCSRName(&key.PublicKey, node)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// issued waits until the cluster has issued a certificate.
func issued(t *testing.T, csr string) {
	t.Helper()
	until(t, "a certificate for "+csr, func() bool {
		found, err := adminClient(t).CertificatesV1().CertificateSigningRequests().Get(t.Context(), csr, metav1.GetOptions{})
		return err == nil && len(found.Status.Certificate) > 0
	})
}

// until waits for something that another goroutine or the cluster brings about.
func until(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !so(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

// makeNode makes a Node as another machine's kubelet would.
func makeNode(t *testing.T, name, address string) {
	t.Helper()
	nodes := adminClient(t).CoreV1().Nodes()
	if _, err := nodes.Create(t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeHostName, Address: name}, {Type: corev1.NodeInternalIP, Address: address},
		}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := nodes.Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			t.Log(err)
		}
	})
}

// notes gives the version of the ConfigMap of used tickets.
func notes(t *testing.T) string {
	t.Helper()
	object, err := adminClient(t).CoreV1().ConfigMaps(DefaultNamespace).Get(t.Context(), DefaultConfigMap, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return object.ResourceVersion
}

func clean(sentence string) string { return strings.Join(strings.Fields(sentence), " ") }

func within(t *testing.T, time time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time)
	t.Cleanup(cancel)
	return ctx
}
