// SPDX-License-Identifier: Apache-2.0

package promtest

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/test/loopback"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// Server is a running Prometheus.
type Server struct{ url string }

// Target serves metrics that a Server scrapes.
type Target struct {
	Job     string
	Metrics string
}

// Start runs Prometheus, which scrapes the targets each second, until the test ends.
func Start(t *testing.T, targets ...Target) *Server {
	t.Helper()
	program, dir := RequireProgram(t, "prometheus", "prometheus"), t.TempDir()
	var jobs []map[string]any
	for i, target := range targets {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; version=0.0.4")
			_, _ = w.Write([]byte(target.Metrics))
		}))
		t.Cleanup(server.Close)
		jobs = append(jobs, map[string]any{
			"job_name": strconv.Itoa(i),
			"static_configs": []any{map[string]any{
				"targets": []string{server.Listener.Addr().String()}, "labels": map[string]string{"job": target.Job},
			}},
		})
	}
	config, err := yaml.Marshal(map[string]any{
		"global": map[string]string{"scrape_interval": "1s"}, "scrape_configs": jobs,
	})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "prometheus.yaml"), config)
	address := loopback.FreeAddress(t)
	ctx, stop := context.WithCancel(context.Background())
	command := exec.CommandContext(ctx, program, "--config.file=prometheus.yaml", "--storage.tsdb.path=data",
		"--web.listen-address="+address)
	var log bytes.Buffer
	command.Dir, command.Stderr = dir, &log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = command.Wait() // killed
		if t.Failed() {
			t.Logf("log of Prometheus:\n%s", &log)
		}
	})
	return &Server{url: "http://" + address}
}

// Sample is a sample of the result of a query.
type Sample struct {
	Labels map[string]string
	Value  float64
}

// Query returns the result of an expression as soon as it has samples. It fails the test if the expression is invalid,
// or has none.
func (s *Server) Query(t *testing.T, expression string) []Sample {
	t.Helper()
	var samples []Sample
	waittest.Until(t, "waiting for samples of "+expression, func() (any, bool) {
		samples = s.query(t, expression)
		return samples, len(samples) > 0
	})
	return samples
}

// query returns the result of an expression, without samples if Prometheus is not ready yet.
func (s *Server) query(t *testing.T, expression string) []Sample {
	t.Helper()
	response, err := http.Get(s.url + "/api/v1/query?query=" + url.QueryEscape(expression))
	if err != nil {
		return nil
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusServiceUnavailable {
		return nil
	}
	var body struct {
		Error string
		Data  struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any // time and text
			}
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&body); err != nil || body.Error != "" {
		t.Fatalf("%s: %v %s", expression, err, body.Error)
	}
	var samples []Sample
	for _, result := range body.Data.Result {
		value, err := strconv.ParseFloat(result.Value[1].(string), 64)
		if err != nil {
			t.Fatalf("%s: %v", expression, err)
		}
		samples = append(samples, Sample{Labels: result.Metric, Value: value})
	}
	return samples
}
