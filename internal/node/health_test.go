// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
)

func TestWaitHealthyRetries(t *testing.T) {
	var queries atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if queries.Add(1) < 3 {
			http.Error(w, "[-]syncloop failed", http.StatusInternalServerError)
		}
	}))
	defer server.Close()
	if err := WaitHealthy(t.Context(), server.URL, Host{}, (&reporttest.Recorder{}).Log()); err != nil ||
		queries.Load() != 3 {
		t.Errorf("WaitHealthy() = %v after %d requests, want none after 3", err, queries.Load())
	}
}

func TestWaitHealthyEndsAtDeadline(t *testing.T) {
	ctx, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	if err := WaitHealthy(ctx, "http://127.0.0.1:1/healthz", Host{}, (&reporttest.Recorder{}).Log()); err == nil ||
		!strings.Contains(err.Error(), "does not respond") {
		t.Errorf("WaitHealthy() = %v", err)
	}
}

func TestHealthFinding(t *testing.T) {
	answer := errors.New("kubelet responds with HTTP 500: [-]syncloop failed")
	if got := healthFinding(answer,
		hostFacts{recentErrors: []string{`"e"`}}); got.Message != "kubelet is running, but not healthy: kubelet responds "+
		"with HTTP 500: [-]syncloop failed; last error: e" {
		t.Errorf("a running kubelet: %q", got.Message)
	}
	idle := []unitFacts{{
		name: "crio.service", requiredBy: systemd.KubeletUnit,
		state: systemd.UnitState{Load: "not-found", Active: "inactive"},
	}, {name: systemd.KubeletUnit}}
	if got := healthFinding(answer, hostFacts{units: idle}); got.Message != "crio.service, which kubelet.service "+
		"requires, does not exist on this host (Unit crio.service not found)" {
		t.Errorf("a missing CRI-O: %q", got.Message)
	}
}

func TestExplainStartFailure(t *testing.T) {
	failure := errors.New("restarting crio.service: Unit openvswitch.service not found")
	err := Host{}.ExplainStartFailure(t.Context(), "crio.service", failure)
	const want = "openvswitch.service, which crio.service requires, does not exist on this host (Unit " +
		"openvswitch.service not found)"
	if err == nil || err.Error() != want || !errors.Is(err, failure) ||
		!strings.HasPrefix(string(report.RemedyOf(err)), "dnf install openvswitch") {
		t.Errorf("ExplainStartFailure() = %v (%s)", err, report.RemedyOf(err))
	}
	other := errors.New("the bus is gone")
	if err := (Host{}).ExplainStartFailure(t.Context(), "crio.service",
		other); err != other { //nolint:errorlint // must be the same value
		t.Errorf("WhyNotStarted() = %v", err)
	}
	if err := (Host{}).ExplainStartFailure(t.Context(), "crio.service", nil); err != nil {
		t.Errorf("ExplainStartFailure() = %v without an error", err)
	}
}
