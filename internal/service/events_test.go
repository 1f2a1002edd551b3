// SPDX-License-Identifier: Apache-2.0

package service

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
)

// nodeOf returns a node of the API server at that address, which need not work.
func nodeOf(t *testing.T, server string) *node.Node {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	content := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c,
		contexts: [{name: c, context: {cluster: c, user: u}}],
		clusters: [{name: c, cluster: {server: "https://%s"}}], users: [{name: u, user: {token: t}}]}`, server)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	client, err := node.OpenNode(path, "worker-0", func(*http.Request) (*url.URL, error) { return nil, nil },
		report.Log{}) // no proxy
	if err != nil {
		t.Fatal(err)
	}
	return client
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
	m := &nodeMonitor{log: report.Log{Sink: sink, Step: "monitor"}, node: nodeOf(t, listener.Addr().String())}
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
