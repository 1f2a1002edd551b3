// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package identity

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
)

type roundTripperFunc func(*http.Request) (*http.Response, error)

func (f roundTripperFunc) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

func parseAddresses(texts ...string) []netip.Addr {
	var all []netip.Addr
	for _, text := range texts {
		all = append(all, netip.MustParseAddr(text))
	}
	return all
}

// createServingCSR creates a serving CSR of a node with the node's own credential,
// as kubelet does.
func createServingCSR(t *testing.T, serving *Serving, address string) string {
	t.Helper()
	subject := nodeSubject(serving.NodeName)
	request, err := cert.MakeCSR(certtest.NewKey(t), &subject, []string{serving.NodeName},
		[]net.IP{net.ParseIP(address)})
	if err != nil {
		t.Fatal(err)
	}
	csr, err := serving.Conn.Client.CSRs().Create(t.Context(), newServingCSR(request), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return csr.Name
}

func newServingCSR(request []byte) *kube.CSR {
	return &kube.CSR{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "csr-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: request, SignerName: certificatesv1.KubeletServingSignerName,
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth},
		},
	}
}

// createOtherCSRs fills the cluster with CSRs of other nodes, half of each kind.
func createOtherCSRs(t *testing.T, count int) {
	t.Helper()
	csrs := kubetest.AdminClient(t).CertificatesV1().CertificateSigningRequests()
	key := certtest.NewKey(t)
	var all sync.WaitGroup
	var made atomic.Int64
	for worker := range 8 {
		all.Go(func() {
			for n := worker; n < count; n += 8 {
				name := fmt.Sprintf("crowd-%d", n)
				subject := nodeSubject(name)
				request, err := cert.MakeCSR(key, &subject, nil, nil)
				if err != nil {
					return
				}
				csr := newServingCSR(request)
				if n%2 == 0 {
					csr.Spec.SignerName, csr.Spec.Usages = certificatesv1.KubeAPIServerClientKubeletSignerName, clientUsages()
				} else if csr.Spec.Request, err = cert.MakeCSR(key, &subject, []string{name}, nil); err != nil {
					return
				}
				if _, err := csrs.Create(t.Context(), csr, metav1.CreateOptions{}); err == nil {
					made.Add(1)
				}
			}
		})
	}
	all.Wait()
	if made.Load() != int64(count) {
		t.Fatalf("%d of %d CSRs were made", made.Load(), count)
	}
}

// byteCounter forwards connections to the API server and counts the bytes of the
// responses.
type byteCounter struct {
	address string
	bytes   atomic.Int64
}

func newByteCounter(t *testing.T) *byteCounter {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	c := &byteCounter{address: listener.Addr().String()}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go c.forward(client)
		}
	}()
	return c
}

func (c *byteCounter) forward(client net.Conn) {
	defer client.Close()
	server, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", kubetest.Plane.APIForward)
	if err != nil {
		return
	}
	defer server.Close()
	go func() { _, _ = io.Copy(server, client); server.Close() }()
	_, _ = io.Copy(io.MultiWriter(client, c), server)
}

// Write adds len(p) to the count.
func (c *byteCounter) Write(p []byte) (int, error) {
	c.bytes.Add(int64(len(p)))
	return len(p), nil
}

// bytesOfClientWait returns the bytes that a node receives until its client CSR is
// pending, and for two checks afterwards.
func bytesOfClientWait(t *testing.T, name string) int64 {
	t.Helper()
	through := newByteCounter(t)
	identity, recorded := newIdentity(t, name)
	identity.Proxy = kubetest.NoProxy
	identity.BootstrapKubeconfig = kubetest.BootstrapKubeconfig(t,
		func(cluster *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			cluster.Server = "https://" + through.address
		})
	if _, err := identity.Obtain(recorded.DeadlineAtNth(t, 3, awaitingApproval), nil); err == nil ||
		!strings.Contains(recorded.Text(), awaitingApproval) {
		t.Fatalf("Obtain() = %v; said:\n%s", err, recorded.Text())
	}
	return through.bytes.Load()
}

func TestControlPlaneClientWaitLimitsTraffic(t *testing.T) {
	before := bytesOfClientWait(t, "bytes-alone")
	createOtherCSRs(t, 500)
	after := bytesOfClientWait(t, "bytes-crowd")
	t.Logf("a node that waits for its client certificate has received %d bytes in an empty cluster, %d bytes among "+
		"500 CSRs more", before, after)
	// Timestamps and serial numbers vary in length; one more CSR would add 2000
	// bytes.
	if difference := after - before; difference > 1000 || difference < -1000 {
		t.Errorf("what is received grows with the cluster: %d bytes, then %d", before, after)
	}
}

func TestControlPlaneServingWaitListsOnce(t *testing.T) {
	serving, identity, recorded := joinedNode(t, "bytes-serving")
	createOtherCSRs(t, 500) // half of them are serving CSRs
	var mu sync.Mutex
	var lists, watches []string
	config, err := clientcmd.BuildConfigFromFlags("", identity.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripperFunc(func(request *http.Request) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			if query := request.URL.Query(); request.Method == http.MethodGet && query.Get("watch") != "" {
				watches = append(watches, query.Get("resourceVersion"))
			} else if request.Method == http.MethodGet {
				lists = append(lists, query.Get("continue"))
			}
			return next.RoundTrip(request)
		})
	})
	through := newByteCounter(t)
	config.Host = "https://" + through.address
	if serving.Conn, err = kube.Connect(rest.CopyConfig(config), kubetest.NoProxy); err != nil {
		t.Fatal(err)
	}
	csr := createServingCSR(t, serving, "192.0.2.7")
	ctx := recorded.DeadlineAtNth(t, 3, "waiting for approval of serving CSR "+csr)
	if _, err := serving.Obtain(ctx, nil); err == nil ||
		!strings.Contains(recorded.Text(), "oc adm certificate approve "+csr) {
		t.Fatalf("Obtain() = %v; said:\n%s", err, recorded.Text())
	}
	mu.Lock()
	defer mu.Unlock()
	first := 0
	for _, from := range lists {
		if from == "" {
			first++
		}
	}
	if first != 1 || len(lists) < 3 || len(watches) != 1 || watches[0] == "" || watches[0] == "0" {
		t.Errorf("a wait among 250 serving CSRs and more made %d lists in %d pages, and watches from %v; want one "+
			"list in pages, and one watch from where it ended", first, len(lists), watches)
	}
	others, err := kubetest.AdminClient(t).CertificatesV1().CertificateSigningRequests().List(t.Context(),
		metav1.ListOptions{FieldSelector: serving.source().Selector})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("a node that waits for its serving certificate has received %d bytes among %d serving CSRs, in %d pages",
		through.bytes.Load(), len(others.Items), len(lists))
}
