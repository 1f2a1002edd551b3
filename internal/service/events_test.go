// SPDX-License-Identifier: Apache-2.0

package service

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
)

// nodeOf returns a node of the API server at that address, which need not work. ca are PEM certificates, or nil.
func nodeOf(t *testing.T, server string, ca []byte) *node.Node {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, kubeconfigOf(server, ca), 0o600); err != nil {
		t.Fatal(err)
	}
	client, err := node.OpenNode(path, "worker-0", func(*http.Request) (*url.URL, error) { return nil, nil },
		report.Log{}) // no proxy
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// kubeconfigOf returns the kubeconfig of nodeOf.
func kubeconfigOf(server string, ca []byte) []byte {
	return fmt.Appendf(nil, `{apiVersion: v1, kind: Config, current-context: c,
		contexts: [{name: c, context: {cluster: c, user: u}}],
		clusters: [{name: c, cluster: {server: "https://%s", certificate-authority-data: "%s"}}],
		users: [{name: u, user: {token: t}}]}`, server, base64.StdEncoding.EncodeToString(ca))
}

// Each failed Event can take as long as a request timeout. If the first Event
// fails, no other one is sent; the journal contains all changes.
func TestPublishChangesStopsAfterOneFailedEvent(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var requests atomic.Int32
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			requests.Add(1)
			connection.Close()
		}
	}()
	sink := &reporttest.Recorder{}
	m := &nodeMonitor{log: report.Log{Sink: sink, Step: "monitor"}, node: nodeOf(t, listener.Addr().String(), nil)}
	gone := Change{Finding: report.Finding{Reason: report.NodeTainted, Message: "a taint"}, Resolved: true}
	m.publishChanges(t.Context(), append(activeFindings(), gone))
	want := []string{"kubelet.service is not running (failed)", "pod a/b", "pod a/c", "drift: /etc/a", "resolved: a taint"}
	var messages []string
	for _, event := range sink.Events() {
		messages = append(messages, event.Message)
	}
	if len(messages) != len(want)+1 || !slices.Equal(messages[:len(want)], want) {
		t.Errorf("%q, want %q and the reason for the missing Event", messages, want)
	}
	if n := requests.Load(); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

// After an outage, the Events of its time are written with that time and in their order. What the API server rejects is
// not repeated.
func TestEventsOfAnOutageAreWrittenLater(t *testing.T) {
	status := http.StatusServiceUnavailable
	var written []corev1.Event
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var event corev1.Event
		content, err := io.ReadAll(r.Body)
		if err == nil {
			_, _, err = scheme.Codecs.UniversalDeserializer().Decode(content, nil, &event)
		}
		w.Header().Set("Content-Type", "application/json")
		switch {
		case err != nil:
			t.Error(err)
		case status != http.StatusCreated:
			w.WriteHeader(status)
		case event.Reason == "Rejected":
			w.WriteHeader(http.StatusUnprocessableEntity)
			_ = json.NewEncoder(w).Encode(apierrors.NewInvalid(schema.GroupKind{Kind: "Event"}, "", nil).Status())
		default:
			written = append(written, event)
			w.WriteHeader(http.StatusCreated)
			_ = json.NewEncoder(w).Encode(event)
		}
	}))
	defer server.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	m := &nodeMonitor{node: nodeOf(t, strings.TrimPrefix(server.URL, "https://"), ca)}

	for i := range maxPendingEvents {
		m.recordEvents(t.Context(), node.Event{Reason: fmt.Sprintf("During%d", i)})
	}
	m.recordEvents(t.Context(), node.Event{Reason: "Rejected"}, node.Event{Reason: "Last"})
	outage := time.Now().Add(-time.Hour)
	for i := range m.pending.events {
		m.pending.events[i].Time = outage
	}
	status = http.StatusCreated
	m.pending.write(t.Context(), m.log, m.node.RecordEvent)
	if len(written) > 0 {
		t.Errorf("%d Events were tried again before the pause has passed", len(written))
	}
	m.pending.retry = time.Now()
	m.pending.write(t.Context(), m.log, m.node.RecordEvent)
	if n := len(written); n != maxPendingEvents-1 || written[0].Reason != "During2" || written[n-1].Reason != "Last" {
		t.Fatalf("%d Events were written: %v", n, written)
	}
	if at := written[0].LastTimestamp.Time; !at.Equal(outage.Truncate(time.Second)) {
		t.Errorf("the time of an Event is %s, not that of the outage", at)
	}
}
