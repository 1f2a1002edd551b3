package kubelet

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// HealthURL is where kubelet tells whether it is well; it listens on loopback
// alone, healthzPort in its configuration.
const HealthURL = "http://127.0.0.1:10248/healthz"

// Health waits until kubelet says that it is well, and says meanwhile how its
// unit, or the one that it needs, is doing and what it said last. A unit that
// systemd has given up on ends the wait.
func Health(ctx context.Context, url string, machine Machine, log report.Log) error {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}
	started := time.Now()
	last := finding{text: "kubelet does not answer at " + url, remedy: "journalctl -b -u kubelet"}
	var asked time.Time
	for {
		answer := healthy(ctx, client, url)
		if answer == nil {
			return nil
		}
		if time.Since(started) > evidenceEvery && time.Since(asked) > evidenceEvery {
			asked = time.Now()
			last = unwell(answer, machine.idle(ctx), lastErrors(ctx, "kubelet.service", 2))
			log.Wait(last.text, last.remedy)
			if failedFor(ctx, machine) {
				return last.failure()
			}
		}
		if !sleep(ctx, 250*time.Millisecond) {
			return ended(ctx, last.failure())
		}
	}
}

func healthy(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("asking kubelet: %w", err)
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("asking kubelet: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 4096))
	if err != nil {
		return fmt.Errorf("asking kubelet: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("kubelet answers %d: %s", response.StatusCode, shorten(strings.TrimSpace(string(body))))
	}
	return nil
}

// unwell says why kubelet is not well.
func unwell(answer error, idle []unitEvidence, errors []string) finding {
	if len(idle) > 0 {
		return idleText(idle)
	}
	return finding{text: "kubelet runs, but is not well: " + answer.Error() + said(errors), remedy: "journalctl -b -u kubelet"}
}

// failedFor tells whether systemd has given kubelet up; with Restart=always it
// does so only when it dies faster than the start limit allows.
func failedFor(ctx context.Context, machine Machine) bool {
	if machine.Systemd == nil {
		return false
	}
	state, err := machine.Systemd.UnitState(ctx, "kubelet.service")
	return err == nil && state.Active == "failed"
}
