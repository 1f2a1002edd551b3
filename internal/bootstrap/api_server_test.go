// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

// apiServer is the API server of a cluster with the Node worker-0, whose lease is renewed with each request.
type apiServer struct {
	*httptest.Server

	uid      string
	renewals atomic.Int64
	status   atomic.Int64 // of all responses; 0: OK
	requests atomic.Int64
	accepted int64 // number of requests before it rejects the node; 0: no limit
}

func startAPIServer(t *testing.T, ca *certtest.CA, uid string) *apiServer {
	t.Helper()
	s := &apiServer{uid: uid}
	s.Server = httptest.NewUnstartedServer(s)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{ca.IssueServing(t, "127.0.0.1")}} //nolint:gosec // a test
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if n := s.requests.Add(1); s.accepted > 0 && n > s.accepted {
		s.status.Store(http.StatusUnauthorized)
	}
	if status := s.status.Load(); status != 0 {
		w.WriteHeader(int(status))
		return
	}
	meta := metav1.ObjectMeta{Name: "worker-0", UID: types.UID(s.uid)}
	if strings.Contains(r.URL.Path, "/leases/") {
		renewed := metav1.NewMicroTime(time.Unix(1795290000+s.renewals.Add(1), 0))
		_ = json.NewEncoder(w).Encode(coordinationv1.Lease{
			ObjectMeta: meta, Spec: coordinationv1.LeaseSpec{RenewTime: &renewed},
		})
		return
	}
	_ = json.NewEncoder(w).Encode(corev1.Node{ObjectMeta: meta})
}

// movedNode is a joined host whose API server can move.
type movedNode struct {
	*renewal

	own    *identity.Identity
	ca     *certtest.CA
	before *apiServer
	local  *apiServer // in place of the static pod
	config string     // haproxy.cfg on the host
}

func startMovedNode(t *testing.T) *movedNode {
	t.Helper()
	n := &movedNode{renewal: startRenewal(t, "", "a"), ca: certtest.NewCA(t, "root-ca")}
	n.before, n.local = startAPIServer(t, n.ca, "uid"), startAPIServer(t, n.ca, "uid")
	tree, err := hostfs.OpenTree("/")
	flowtest.NoError(t, err)
	t.Cleanup(func() { tree.Close() })
	n.own = &identity.Identity{Kubeconfig: filepath.Join(t.TempDir(), "kubeconfig"), NodeName: "worker-0"}
	n.own.Ledger, err = ledger.Open(t.TempDir(), ledger.Drivers{Paths: &ledger.Paths{Tree: tree}})
	flowtest.NoError(t, err)
	t.Cleanup(func() { n.own.Ledger.Close() })
	n.Run.State.NodeName, n.Run.State.APIServer, n.Run.State.APIServerCA = "worker-0", n.before.URL, n.ca.PEM
	flowtest.NoError(t, joinstate.Write(n.Run.Dir, n.Run.State))
	n.writeKubeconfig(t, n.ca.PEM)

	files := map[string]string{}
	for _, file := range plan.APIServerFiles() {
		if strings.HasSuffix(file, ".env") {
			host, port, _ := strings.Cut(strings.TrimPrefix(n.before.URL, "https://"), ":")
			files[file] = "KUBERNETES_SERVICE_HOST='" + host + "'\nKUBERNETES_SERVICE_PORT='" + port + "'\n"
		}
		if strings.HasSuffix(file, "haproxy.cfg") {
			files[file] = "  bind " + strings.TrimPrefix(n.local.URL, "https://") + "\n  server controlplane " +
				strings.TrimPrefix(n.before.URL, "https://") + "\n"
			n.config = filepath.Join(n.Host.Tree.Name(), file)
		}
	}
	flowtest.NoError(t, joinstate.SaveFile(n.Run.Dir, joinstate.PayloadFile, encodeFiles(files)))
	flowtest.WriteTree(t, n.Host.Tree.Name(), files)
	return n
}

func (n *movedNode) writeKubeconfig(t *testing.T, cas ...[]byte) {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: n.before.URL, CertificateAuthorityData: slices.Concat(cas...)}
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "c"}
	config.CurrentContext = "x"
	flowtest.NoError(t, clientcmd.WriteToFile(*config, n.own.Kubeconfig))
}

// contents returns all that a move changes: kubelet's kubeconfig, the files and the record of the API server.
func (n *movedNode) contents(t *testing.T) string {
	t.Helper()
	state, err := joinstate.Read(n.Run.Dir)
	flowtest.NoError(t, err)
	all := state.APIServer + " " + strings.Join(state.FormerAPIServers, " ") + "\n"
	kubeconfig, err := os.ReadFile(n.own.Kubeconfig)
	flowtest.NoError(t, err)
	cluster, err := kube.ParseCluster(kubeconfig)
	flowtest.NoError(t, err)
	all += cluster.Server + "\n" + string(cluster.CA)
	for _, file := range plan.APIServerFiles() {
		content, _ := os.ReadFile(filepath.Join(n.Host.Tree.Name(), file))
		all += string(content)
	}
	return all
}
