// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package ignition_test

import (
	"crypto/x509"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// After a restart, each replica rejects the token until it has generated the payload. The fetch waits for that.
func TestControlPlaneHAProxyWithRestartedReplicas(t *testing.T) {
	p := startProxied(t, smallPayload)
	for _, one := range p.replicas {
		one.isCold.Store(true)
	}
	p.instead = func(number int32, _ http.ResponseWriter) bool {
		if number == 2 {
			p.replicas[0].isCold.Store(false)
			p.replicas[1].isCold.Store(false)
		}
		return false
	}
	if err := p.fetch(t, waittest.Timeout); err != nil {
		t.Error(err)
	}
}

// A replica ends in the middle of a transfer, and before the response: the fetch is repeated at the other one.
func TestControlPlaneHAProxyWithEndingReplica(t *testing.T) {
	for name, sent := range map[string]int{"in the transfer": 200_000, "before the response": 0} {
		t.Run(name, func(t *testing.T) {
			body := `{"ignition":{"version":"3.2.0"},"x":"` + strings.Repeat("x", 400_000) + `"}`
			p := startProxied(t, body)
			var requests atomic.Int32
			p.instead = func(number int32, w http.ResponseWriter) bool {
				if requests.Store(number); number > 1 {
					return false
				}
				if sent > 0 {
					_, _ = io.WriteString(w, body[:sent])
					_ = http.NewResponseController(w).Flush()
				}
				panic(http.ErrAbortHandler)
			}
			if err := p.fetch(t, waittest.Timeout); err != nil || requests.Load() != 2 {
				t.Errorf("%v after %d requests", err, requests.Load())
			}
		})
	}
}

// HAProxy's own pages are temporary, and name the proxy.
func TestControlPlaneHAProxyPages(t *testing.T) {
	for status, test := range map[string]struct {
		config  [2]string // replacement in HAProxy's configuration
		instead func(http.ResponseWriter) bool
	}{
		"(HTTP 502)": {instead: func(http.ResponseWriter) bool { panic(http.ErrAbortHandler) }},
		"(HTTP 504)": {
			config: [2]string{"timeout server 30s", "timeout server 100ms"},
			instead: func(w http.ResponseWriter) bool { // until HAProxy closes the connection
				connection, _, err := http.NewResponseController(w).Hijack()
				if err == nil {
					_, _ = io.Copy(io.Discard, connection)
					connection.Close()
				}
				return true
			},
		},
	} {
		t.Run(status, func(t *testing.T) {
			p := startProxied(t, smallPayload)
			p.instead = func(_ int32, w http.ResponseWriter) bool { return test.instead(w) }
			if test.config[0] != "" {
				path := filepath.Join(p.dir, "haproxy.conf")
				config, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				p.write(t, "haproxy.conf", []byte(strings.Replace(string(config), test.config[0], test.config[1], 1)))
				p.restart(t)
			}
			err := p.fetch(t, time.Nanosecond)
			reporttest.CheckFailure(t, err, report.Failed,
				"the ignition server is unreachable for the proxy in front of it "+status)
			if !strings.Contains(string(report.RemedyOf(err)), "get pods | grep ignition-server") {
				t.Errorf("remedy %q", report.RemedyOf(err))
			}
		})
	}
}

// HAProxy reads its certificate when it starts, so a renewed one has no effect before a restart.
func TestControlPlaneHAProxyWithRenewedCertificate(t *testing.T) {
	p := startProxied(t, smallPayload)
	p.setCertificate(t, func(template *x509.Certificate) {
		template.NotBefore, template.NotAfter = time.Now().AddDate(-1, 0, 0), time.Now().Add(-time.Hour)
	})
	p.restart(t)
	p.setCertificate(t)
	err := p.fetch(t, waittest.Timeout)
	reporttest.CheckFailure(t, err, report.Refused, " expired at ")
	if !strings.Contains(string(report.RemedyOf(err)), " rollout restart deployment/ignition-server-proxy") {
		t.Errorf("remedy %q", report.RemedyOf(err))
	}
	p.restart(t)
	if err := p.fetch(t, waittest.Timeout); err != nil {
		t.Error(err)
	}
}
