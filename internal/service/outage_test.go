// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
)

// remoteServer is an API server behind a link that can be down. Each request has a connection of its own, so that the
// connections count the requests.
type remoteServer struct {
	net.Listener
	mutex   sync.Mutex
	isDown  bool
	refused int
	events  map[string]int // the Events that were written, by reason
}

// Accept returns the next connection while the link is up.
func (s *remoteServer) Accept() (net.Conn, error) {
	for {
		conn, err := s.Listener.Accept()
		s.mutex.Lock()
		isDown := s.isDown
		if isDown {
			s.refused++
		}
		s.mutex.Unlock()
		if err != nil || !isDown {
			return conn, err
		}
		conn.Close()
	}
}

// cut sets whether the link is down.
func (s *remoteServer) cut(isDown bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.isDown = isDown
}

// takeRefused returns the number of refused connections since the last call.
func (s *remoteServer) takeRefused() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	refused := s.refused
	s.refused = 0
	return refused
}

// ServeHTTP accepts Events and annotations, and returns the Node. Other objects do not exist.
func (s *remoteServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue}
	node := corev1.Node{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{Name: "worker-0"},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{ready}},
	}
	switch {
	case strings.HasSuffix(r.URL.Path, "/events"):
		content, _ := io.ReadAll(r.Body)
		var event corev1.Event
		_, _, _ = scheme.Codecs.UniversalDeserializer().Decode(content, nil, &event)
		s.mutex.Lock()
		s.events[event.Reason]++
		s.mutex.Unlock()
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(event)
	case strings.HasSuffix(r.URL.Path, "/nodes/worker-0"):
		_ = json.NewEncoder(w).Encode(node)
	case strings.HasSuffix(r.URL.Path, "/pods"):
		_, _ = io.WriteString(w, `{"kind": "PodList", "apiVersion": "v1"}`)
	case strings.HasSuffix(r.URL.Path, "/certificatesigningrequests"):
		_, _ = io.WriteString(w, `{"kind": "CertificateSigningRequestList", "apiVersion": "certificates.k8s.io/v1"}`)
	case r.URL.Path == "/version":
		_, _ = io.WriteString(w, `{"gitVersion": "v1.31.4"}`)
	default:
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"kind": "Status", "apiVersion": "v1", "code": 404, "reason": "NotFound"}`)
	}
}

// A site without a link for hours: the service sends few requests, repairs nothing, and writes each finding once when
// the link is back. The connections end without a response, as those to a load balancer without servers.
func TestSiteWithoutLink(t *testing.T) {
	const before, outage = 30 * time.Minute, 12 * time.Hour
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	flowtest.NoError(t, err)
	remote := &remoteServer{Listener: listener, events: map[string]int{}}
	server := httptest.NewUnstartedServer(remote)
	server.Listener = remote
	server.Config.SetKeepAlivesEnabled(false)
	// The client can keep a connection whose request was canceled. Fake time stops while it waits on the network.
	server.Config.ReadHeaderTimeout = 10 * time.Second
	server.StartTLS()
	defer server.Close()
	address, ca := listener.Addr().String(), pem.EncodeToMemory(&pem.Block{
		Type: "CERTIFICATE", Bytes: server.Certificate().Raw,
	})
	dir := t.TempDir()
	state := joinstate.State{
		Started: time.Unix(1, 0), Finished: time.Unix(2, 0), NodeName: "worker-0", Hosted: true, ConfigHash: "5f6c",
	}
	flowtest.NoError(t, joinstate.Write(dir, state))

	synctest.Test(t, func(t *testing.T) {
		m := &nodeMonitor{
			Options: Options{Options: request.Options{StateDir: dir}}, state: state, pkiDir: t.TempDir(),
			log:  report.Log{Sink: &reporttest.Recorder{}, Step: "monitor"},
			node: nodeOf(t, address, ca), kubeconfigContent: kubeconfigOf(address, ca),
		}
		m.Config.Repair = true
		ctx, cancel := context.WithTimeout(t.Context(), before+outage+30*time.Minute)
		defer cancel()
		monitor := m.monitor()
		// The others read the host only.
		ofAPI := []string{"node", "certificates", "cluster-cas", "renewals", "release", "rollout"}
		monitor.Checks = slices.DeleteFunc(monitor.Checks, func(c Check) bool { return !slices.Contains(ofAPI, c.Name) })
		monitor.Done = func() (bool, error) { return false, nil }
		var perMinute []int
		go func() {
			time.Sleep(before)
			remote.cut(true)
			for range int(outage / time.Minute) {
				time.Sleep(time.Minute)
				perMinute = append(perMinute, remote.takeRefused())
			}
			remote.cut(false)
		}()
		flowtest.NoError(t, monitor.Run(ctx))
		sum := 0
		for _, n := range perMinute {
			sum += n
		}
		// In the first minute, findings are confirmed.
		most := slices.Max(perMinute[1:])
		t.Logf("%d requests in %s, up to %d in a minute", sum, outage, most)
		if most > 10 || perMinute[0] > 30 || sum < len(perMinute) || sum > 8*len(perMinute) {
			t.Errorf("too many or too few requests: %v", perMinute)
		}
		if len(m.repairs.records) > 0 {
			t.Errorf("repairs without a link: %+v", m.repairs.records)
		}
		want := map[string]int{
			"APIServerUnreachable": 1, "APIServerUnreachableResolved": 1,
			"CheckFailed": 1, "CheckFailedResolved": 1, // of the CAs of the cluster
			"ClockSkew": 1, "ServingCertificateMissing": 1, // from before the outage; the server has the real time
		}
		if diff := cmp.Diff(want, remote.events); diff != "" {
			t.Errorf("Events (-want +got):\n%s", diff)
		}
	})
}

// Without a connection to the API server, only the checks that need none run. The others run soon after it is back.
func TestRunPostponesChecksWithoutConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Second)
		defer cancel()
		r := newRecorder(Check{Name: "host", Interval: time.Minute, Find: healthy},
			Check{Name: "cluster", Interval: time.Hour, Find: healthy, NeedsAPI: true})
		r.Disconnected = func() bool { return time.Since(r.began) < 100*time.Second }
		if err := r.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if want := []string{"0 host", "60 host", "120 host", "120 cluster", "180 host"}; !slices.Equal(r.notes, want) {
			t.Errorf("%q, want %q", r.notes, want)
		}
	})
}
