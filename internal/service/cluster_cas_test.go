// SPDX-License-Identifier: Apache-2.0

package service

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

// publishedCAs are the CAs that an API server publishes in the namespace of a pod of the node.
type publishedCAs struct {
	bundle  []byte
	version int // of the ConfigMap
}

// publish changes the CAs.
func (p *publishedCAs) publish(bundle []byte) { p.bundle, p.version = bundle, p.version+1 }

func (p *publishedCAs) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	const name = "kube-root-ca.crt"
	var object any = corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{UID: "uid", ResourceVersion: strconv.Itoa(p.version)},
		Data:       map[string]string{"ca.crt": string(p.bundle)},
	}
	if strings.HasSuffix(request.URL.Path, "/pods") {
		source := corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: name}}
		volume := corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{ConfigMap: &source}}}
		object = corev1.PodList{Items: []corev1.Pod{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-dns"},
			Spec:       corev1.PodSpec{Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{Projected: &volume}}}},
		}}}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(object)
}

// monitorOf returns the monitor of a node whose cluster publishes these CAs, and the CA that the node trusts.
func monitorOf(t *testing.T, published *publishedCAs) (*nodeMonitor, []byte) {
	t.Helper()
	server := httptest.NewTLSServer(published)
	t.Cleanup(server.Close)
	return monitorAt(t, server), trustedCA(server)
}

// trustedCA returns the certificate of a server as CA.
func trustedCA(server *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

// monitorAt returns the monitor of a node of an API server.
func monitorAt(t *testing.T, server *httptest.Server) *nodeMonitor {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["hosted"] = &clientcmdapi.Cluster{Server: server.URL, CertificateAuthorityData: trustedCA(server)}
	config.Contexts["kubelet"] = &clientcmdapi.Context{Cluster: "hosted"}
	config.CurrentContext = "kubelet"
	m := &nodeMonitor{state: joinstate.State{NodeName: "worker-0"}, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	m.StateDir = t.TempDir()
	flowtest.NoError(t, clientcmd.WriteToFile(*config, m.kubeconfig))
	flowtest.NoError(t, m.openNode("boot"))
	return m
}

// Operators can change the CAs in their namespaces until the cluster reverts that. A CA counts only if the
// published CAs were not changed between two checks, not even temporarily.
func TestCAsMustBeUnchangedForMinutes(t *testing.T) {
	published := &publishedCAs{}
	m, trusted := monitorOf(t, published)
	rogue := slices.Concat(certtest.NewCA(t, "rogue").PEM, trusted)
	added := slices.Concat(certtest.NewCA(t, "added").PEM, trusted)
	start := time.Unix(1795290000, 0)
	check := func(after time.Duration, want int) {
		t.Helper()
		missing, _, err := m.caCheck().compare(t.Context(), start.Add(after))
		if err != nil || len(missing) != want {
			t.Errorf("after %s: %d new CAs, want %d; %v", after, len(missing), want, err)
		}
	}
	published.publish(trusted)
	check(0, 0)
	for minute := range 30 {
		published.publish(trusted)
		published.publish(rogue)
		check(time.Duration(minute)*time.Minute, 0)
	}
	published.publish(added)
	check(40*time.Minute, 0)
	check(43*time.Minute, 0)
	check(44*time.Minute, 1)
	check(45*time.Minute, 1)
	published.publish(rogue)
	check(45*time.Minute, 0)
	published.publish(added)
	check(45*time.Minute, 0)
	check(50*time.Minute, 1)
}

// A repair adds no other CAs than those that the check has confirmed.
func TestRepairRefusesCAsThatChangedSinceTheCheck(t *testing.T) {
	published := &publishedCAs{}
	m, trusted := monitorOf(t, published)
	published.publish(slices.Concat(certtest.NewCA(t, "added").PEM, trusted))
	m.cas = observation{version: "openshift-dns/uid/1\n", since: time.Now().Add(-time.Hour)}
	missing, _, err := m.caCheck().compare(t.Context(), time.Now())
	if err != nil || len(missing) != 1 {
		t.Fatalf("confirmed: %d, %v", len(missing), err)
	}
	published.publish(slices.Concat(certtest.NewCA(t, "rogue").PEM, trusted))
	result, err := m.caCheck().repair(t.Context(), m.Options.Options)
	if report.CodeOf(err) != report.Failed || !strings.Contains(err.Error(), "have changed since the check") {
		t.Errorf("%q, %v", result, err)
	}
}
