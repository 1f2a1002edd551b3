// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// because returns a finding with a reason.
func because(reason report.Reason, one report.Finding) report.Finding {
	one.Reason = reason
	return one
}

// An administrator reads the first finding and its remedy. What is only an effect follows, without a remedy.
func TestFirstRemedyIsThatOfTheCause(t *testing.T) {
	kubelet := because(report.KubeletNotRunning, problem("systemctl start kubelet", "kubelet stopped"))
	runtime := because(report.CRIONotRunning, problem("systemctl start crio kubelet", "CRI-O stopped"))
	notReady := because(report.NodeNotReady, problem("journalctl -b -u kubelet", "not Ready"))
	tainted := because(report.NodeTainted, warning("oc adm taint", "tainted"))
	unreachable := because(report.APIServerUnreachable, problem("curl", "no API"))
	serving := because(report.ServingCertificateMissing, warning("oc get csr", "no serving certificate"))
	drift := because(driftOfServices, warning("hcp-node-agent join", "drift of kubelet.conf"))
	other := because(otherIdentity, problem("hcp-node-agent leave", "another identity"))
	renamed := because(report.HostNameChanged, problem("hostnamectl", "renamed"))
	full := because(report.DiskPressure, problem("df", "disk full"))
	image := because(report.ImagePullFailed, warning("crictl pull", "no image"))
	pod := because(report.PodNotReady, warning("oc describe pod", "pod waits"))
	clock := because(report.ClockSkew, problem("chronyc makestep", "clock"))
	expired := because(certificateUnusable, problem("hcp-node-agent join --user-data", "expired"))
	route := because(noDefaultRoute, problem("ip route", "no route"))
	bridge := because(bridgeUnusable, problem("nmcli device reapply br-ex", "br-ex"))
	manager := because(noNetworkManager, problem("systemctl enable --now NetworkManager", "NetworkManager"))
	vswitch := because(noOpenVSwitch, problem("systemctl start openvswitch", "Open vSwitch"))
	failed := because(report.CheckFailed, warning("", "check failed"))
	swap := warning("swapoff -a", "swap")
	healthy := passed("no drift")
	for name, test := range map[string]struct {
		found []report.Finding
		want  string // messages; effects in parentheses
	}{
		"kubelet stopped": {
			[]report.Finding{kubelet, notReady, tainted, healthy},
			"kubelet stopped (not Ready) (tainted) no drift",
		},
		"configuration broken": {
			[]report.Finding{kubelet, notReady, swap, drift},
			"drift of kubelet.conf (kubelet stopped) (not Ready) swap",
		},
		"NetworkManager stopped": {
			[]report.Finding{route, manager, bridge, unreachable, failed},
			"NetworkManager (no route) (br-ex) (no API) (check failed)",
		},
		"Open vSwitch stopped": {
			[]report.Finding{route, vswitch, bridge, kubelet},
			"Open vSwitch (no route) (br-ex) (kubelet stopped)",
		},
		"br-ex without a default route": {
			[]report.Finding{route, bridge, unreachable},
			"br-ex (no route) (no API)",
		},
		"harmless drift": {
			[]report.Finding{drift, swap},
			"drift of kubelet.conf swap",
		},
		"CRI-O stopped": {
			[]report.Finding{runtime, kubelet, notReady},
			"CRI-O stopped (kubelet stopped) (not Ready)",
		},
		"host renamed": {
			[]report.Finding{other, renamed, kubelet, serving},
			"renamed (another identity) (kubelet stopped) (no serving certificate)",
		},
		"copied disk": {
			[]report.Finding{other, notReady},
			"another identity not Ready",
		},
		"clock": {
			[]report.Finding{unreachable, expired, clock},
			"clock (no API) (expired)",
		},
		"API server unreachable": {
			[]report.Finding{serving, failed, unreachable, kubelet},
			"no API (no serving certificate) (check failed) kubelet stopped",
		},
		"no default route": {
			[]report.Finding{unreachable, route, tainted},
			"no route (no API) (tainted)",
		},
		"disk full": {
			[]report.Finding{tainted, pod, full, image},
			"disk full (tainted) (pod waits) (no image)",
		},
		"image": {
			[]report.Finding{pod, image},
			"pod waits no image",
		},
		"expired while off": {
			[]report.Finding{kubelet, expired, notReady, failed},
			"expired (kubelet stopped) (not Ready) (check failed)",
		},
		"independent": {
			[]report.Finding{swap, full, runtime},
			"disk full CRI-O stopped swap",
		},
		"none": {
			[]report.Finding{healthy},
			"no drift",
		},
	} {
		var got []string
		for _, one := range groupByCause(sortFindings(test.found)) {
			if one.CausedBy != "" && one.Remedy != "" {
				t.Errorf("%s: the effect %q has a remedy", name, one.Message)
			}
			message := one.Message
			if one.CausedBy != "" {
				message = "(" + message + ")"
			}
			got = append(got, message)
		}
		if text := strings.Join(got, " "); text != test.want {
			t.Errorf("%s:\n%s, want\n%s", name, text, test.want)
		}
	}
}

func TestPrintEffects(t *testing.T) {
	findings := groupByCause([]report.Finding{
		because(report.CRIONotRunning, problem("systemctl start crio kubelet", "CRI-O stopped")),
		because(report.KubeletNotRunning, problem("systemctl start kubelet", "kubelet stopped")),
		because(report.NodeNotReady, problem("journalctl", "not Ready")),
	})
	var text bytes.Buffer
	Report{Hostname: "worker-1", Findings: findings}.Print(&report.Page{Writer: &text})
	for _, want := range []string{"  problem ", "  effect  ", "worker-1: 1 problem, 2 effects\n"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
}
