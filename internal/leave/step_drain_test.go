// SPDX-License-Identifier: Apache-2.0

package leave

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
)

// kubeconfigOf returns a kubeconfig for the API server at a URL.
func kubeconfigOf(url string) string {
	return "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n" +
		"clusters: [{name: c, cluster: {server: '" + url + "'}}]\nusers: [{name: u, user: {}}]\n"
}

func TestLeaveContinuesWithoutTheCluster(t *testing.T) {
	rejecting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer rejecting.Close()
	stopped := httptest.NewServer(http.NotFoundHandler())
	stopped.Close()
	for name, test := range map[string]struct {
		kubeconfig, message string
		timeout             time.Duration
	}{
		"unreachable":              {kubeconfigOf(stopped.URL), "cordoning Node worker-1", 10 * time.Millisecond},
		"credential of another CA": {kubeconfigOf(rejecting.URL), "HTTP 401", time.Minute},
		"certificate does not exist": {strings.Replace(kubeconfigOf(stopped.URL), "user: {}",
			"user: {client-certificate: /nowhere, client-key: /nowhere}", 1), "/nowhere", time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "kubeconfig")
			flowtest.NoError(t, os.WriteFile(file, []byte(test.kubeconfig), 0o600))
			recorder := &reporttest.Recorder{}
			outcome, err := drainNode(t.Context(), file, "worker-1", test.timeout, recorder.Log())
			if err != nil || !strings.Contains(outcome.Summary, "without the cluster") {
				t.Errorf("%+v, %v", outcome, err)
			}
			if text := recorder.Text(); !strings.Contains(text, test.message) ||
				!strings.Contains(text, "the node is not drained") || !strings.Contains(text, "oc delete node worker-1") {
				t.Errorf("it logs %s", text)
			}
		})
	}
	t.Run("interrupted", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "kubeconfig")
		flowtest.NoError(t, os.WriteFile(file, []byte(kubeconfigOf(stopped.URL)), 0o600))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := drainNode(ctx, file, "worker-1", time.Minute, report.Log{}); err == nil {
			t.Error("an interrupted drain continues")
		}
	})
}

func TestDeleteNodeOfAnUnreachableClusterFailsFirst(t *testing.T) {
	stopped := httptest.NewServer(http.NotFoundHandler())
	stopped.Close()
	_, err := openDeleter(t.Context(), []byte(kubeconfigOf(stopped.URL)), joinstate.State{NodeName: "worker-1"},
		10*time.Millisecond, report.Log{})
	reporttest.CheckFailure(t, err, report.Failed, "nothing was changed: ")
	if remedy := report.RemedyOf(err); !strings.Contains(string(remedy), "hcp-node-agent leave #") {
		t.Errorf("remedy %q", remedy)
	}
}
