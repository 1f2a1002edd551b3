// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node/servicelog"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"
)

// HealthURL is kubelet's health endpoint. kubelet serves it only on loopback;
// the port is healthzPort in its configuration.
const HealthURL = "http://127.0.0.1:10248/healthz"

// WaitHealthy waits until kubelet reports that it is healthy. Meanwhile it logs the
// state and the last error of kubelet's unit, or of a unit that it requires. It
// fails if systemd no longer restarts the unit, or when ctx ends.
func WaitHealthy(ctx context.Context, url string, machine Host, log report.Log) error {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}
	search := searches{next: time.Now().Add(evidenceInterval)}
	last := report.Finding{
		Severity: report.SeverityProblem, Message: "kubelet does not respond at " + url,
		Remedy: "journalctl -b -u kubelet",
	}
	for {
		unhealthy := probeHealth(ctx, client, url)
		if unhealthy == nil {
			return nil
		}
		if search.isDue() {
			var gathered hostFacts
			search.run(func() { gathered = machine.gatherFacts(ctx) })
			if ctx.Err() != nil {
				return report.WaitError(ctx, failureOf(last))
			}
			last = healthFinding(unhealthy, gathered)
			log.Wait("waiting for kubelet to become healthy: "+last.Message, last.Remedy)
			if hasFailed(ctx, machine) {
				return failureOf(last)
			}
		}
		if wait.Sleep(ctx, 250*time.Millisecond) != nil {
			return report.WaitError(ctx, failureOf(last))
		}
	}
}

func probeHealth(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("querying kubelet's health: %w", err)
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("querying kubelet's health: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 4096))
	if err != nil {
		return fmt.Errorf("querying kubelet's health: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("kubelet responds with HTTP %d: %s", response.StatusCode,
			servicelog.Shorten(string(body), servicelog.MaxMessage))
	}
	return nil
}

// healthFinding returns why kubelet is not healthy.
func healthFinding(unhealthy error, m hostFacts) report.Finding {
	if len(m.units) > 0 {
		return unitFinding(m.units[0])
	}
	f := report.Finding{
		Severity: report.SeverityProblem, Remedy: "journalctl -b -u kubelet",
		Details: servicelog.Format(servicelog.Last(m.recentErrors, 5)...),
	}
	cause, remedy := servicelog.Explain(m.recentErrors)
	f.Message = "kubelet is running, but not healthy: " + unhealthy.Error() + cause
	if remedy != "" {
		f.Remedy = remedy
	}
	return f
}

// ExplainStartFailure returns err with the reason why a unit did not start or
// restart, if it is known. The service manager usually reports only that the
// job failed.
func (h Host) ExplainStartFailure(ctx context.Context, unit string, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	var idle []unitFacts
	// A running unit keeps running if it cannot be restarted.
	if missing := regexp.MustCompile(`Unit (\S+) not found`).FindStringSubmatch(err.Error()); missing != nil {
		idle = []unitFacts{{name: missing[1], requiredBy: unit, state: systemd.UnitState{Load: "not-found"}}}
	} else {
		idle = h.inactiveUnits(ctx)
	}
	for _, unit := range idle {
		if isBlocking(unit.name, unit.state) { // skips units that were simply not started yet
			f := unitFinding(unit)
			return report.Fail(report.Failed, f.Remedy, "%w", report.DescribedError{Text: f.Message, Err: err})
		}
	}
	return err
}

// hasFailed reports whether systemd no longer restarts kubelet. With
// Restart=always this happens only if kubelet exits faster than the start limit
// allows.
func hasFailed(ctx context.Context, machine Host) bool {
	if machine.Systemd == nil {
		return false
	}
	state, err := machine.Systemd.UnitState(ctx, systemd.KubeletUnit)
	return err == nil && state.Active == "failed"
}
