// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Any response of the API server is one; without one, the finding names the server, the cause and a command.
func TestAPIServerFindings(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"ok":           func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) },
		"unauthorized": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) },
		"unavailable":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"closed":       nil,
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(handler)
			t.Cleanup(server.Close)
			if handler == nil {
				server.Close()
			}
			conn, err := kube.Connect(&rest.Config{Host: server.URL}, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(formatFindings(apiServerFindings(t.Context(), conn)), "\n")
			want := "ok: the API server " + server.URL + " responds"
			if handler == nil {
				want = "problem: the API server " + server.URL + " does not respond: " + server.Listener.Addr().String() +
					" refused the connection: no service listens on the port, or a firewall rejects it => curl -kvm 20 " + server.URL +
					"/version"
			}
			if got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// Without the API server, its finding is the first problem, and the sections that need it are not run.
func TestSectionsWithoutAPIServer(t *testing.T) {
	for _, severity := range []report.Severity{report.SeverityProblem, report.SeverityOK} {
		var ran []string
		findings := sortFindings(runSections(sections(), func(part section) []report.Finding {
			ran = append(ran, part.name)
			if part.name == apiServerSection {
				return []report.Finding{report.Findingf(severity, "", "the API server")}
			}
			return []report.Finding{problem("", "an effect in %s", part.name)}
		}))
		all := lists.Map(sections(), func(part section) string { return part.name })
		if severity == report.SeverityOK {
			if diff := cmp.Diff(all, ran); diff != "" {
				t.Errorf("(-all sections +those that ran):\n%s", diff)
			}
			continue
		}
		const want = "not checked, because the API server does not respond: request, serving-certificate, konnectivity, node"
		if last := findings[len(findings)-1].Message; last != want {
			t.Errorf("the last finding is %q", last)
		}
		if len(ran) != len(all)-4 || findings[1].Message != "the API server" {
			t.Errorf("%v ran; findings %+v", ran, findings)
		}
	}
}

// The cause in the log of a unit replaces the advice to search the log. A normal start logs errors too.
func TestUnitFindingsHaveTheCause(t *testing.T) {
	known := cause{
		text:   ": it cannot use its configuration /etc/kubernetes/kubelet.conf: yaml: line 66",
		remedy: "hcp-node-agent status",
	}
	required := map[string]bool{kubelet.UnitName: true}
	for name, test := range map[string]struct {
		state systemd.UnitState
		cause cause
		want  string
	}{
		"restarted": {
			systemd.UnitState{Load: "loaded", Active: "activating", Sub: "auto-restart", Result: "exit-code"},
			known,
			"problem: kubelet.service exits soon after each start (exit-code): it cannot use its configuration " +
				"/etc/kubernetes/kubelet.conf: yaml: line 66 => hcp-node-agent status",
		},
		"failed": {
			systemd.UnitState{Load: "loaded", Active: "failed", Result: "exit-code"},
			known,
			"problem: kubelet.service is not running (failed, exit-code): it cannot use its configuration " +
				"/etc/kubernetes/kubelet.conf: yaml: line 66 => hcp-node-agent status",
		},
		"failed for an unknown cause": {
			systemd.UnitState{Load: "loaded", Active: "activating", Sub: "auto-restart", Result: "exit-code"},
			cause{text: "; last error: toml: line 3"},
			"problem: kubelet.service exits soon after each start (exit-code); last error: toml: line 3 => " +
				"journalctl -b -u kubelet",
		},
		"unknown cause": {
			systemd.UnitState{Load: "loaded", Active: "activating", Sub: "start"},
			cause{text: "; last error: any"},
			"warning: kubelet.service is starting (start) => systemctl status kubelet",
		},
		"masked": {
			systemd.UnitState{Load: "masked", Active: "inactive"},
			known,
			"problem: kubelet.service is not running: its load state in systemd is masked => systemctl cat kubelet.service",
		},
	} {
		t.Run(name, func(t *testing.T) {
			checkFindings(t, []string{test.want}, unitFindings(map[string]systemd.UnitState{kubelet.UnitName: test.state},
				required, map[string]cause{kubelet.UnitName: test.cause}))
		})
	}
}
