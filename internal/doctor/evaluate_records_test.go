// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"io/fs"
	"net/netip"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func TestDoctorReportsBridgeAndRecords(t *testing.T) {
	there := ovs.Status{
		Present:   true,
		Exists:    true,
		Uplink:    "eth0",
		Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.7/24")},
	}
	temporary := there
	temporary.Profile = &ovs.ProfileStatus{Name: "ovs-if-br-ex", UUID: "u"}
	item := func(kind ledger.Kind, target, step string) ledger.Item {
		return ledger.Item{
			Change: ledger.Change{
				Kind:    kind,
				Target:  target,
				Desired: ledger.State{Present: true, Enabled: "enabled", Active: "active"},
			},
			Step: step,
		}
	}
	stopped := ledger.State{Present: true, Enabled: "enabled", Active: "inactive"}
	disabled := ledger.State{Present: true, Enabled: "disabled", Active: "inactive"}
	for name, test := range map[string]struct {
		found []report.Finding
		want  []string
	}{
		"br-ex": {bridgeFindings(there, true), []string{"ok: eth0 is in br-ex with 192.0.2.7/24"}},
		"no br-ex": {
			bridgeFindings(ovs.Status{}, true),
			[]string{"problem: br-ex does not exist => hcp-node-agent join --only network # creates br-ex again"},
		},
		"none wanted": {bridgeFindings(ovs.Status{}, false), []string{}},
		"not of the agent": {
			bridgeFindings(ovs.Status{Exists: true, Missing: ovs.BridgePort}, false),
			[]string{
				"note: br-ex exists but does not carry the host's traffic: it has no uplink => ovs-vsctl show",
			},
		},
		"no default route": {
			bridgeFindings(ovs.Status{Exists: true, Missing: ovs.BridgeDefaultRoute}, true),
			[]string{
				"problem: br-ex exists but does not carry the host's traffic: it has no default route => " +
					"nmcli device reapply br-ex # adds the routes of its profile again",
			},
		},
		"temporary profile": {
			bridgeFindings(temporary, false),
			[]string{
				"ok: eth0 is in br-ex with 192.0.2.7/24",
				"warning: NetworkManager profile ovs-if-br-ex of br-ex is not stored on disk and will be lost at a reboot => " +
					"nmcli connection modify u connection.id ovs-if-br-ex",
			},
		},

		"nothing left": {leftoverFindings("", false, nil), []string{}},
		"a move": {
			leftoverFindings("eth0", true, nil),
			[]string{
				"problem: the migration of eth0 to br-ex was interrupted; it is rolled back at the next boot => " +
					"hcp-node-agent join # rolls back the migration, then resumes the join",
			},
		},
		"changes": {leftoverFindings("", false, []ledger.Item{
			item("file", "/a", "files"),
			item("file", "/b", "files"),
			item("file", "/c", "files"),
			item("file", "/d", "files"),
			item("file", "/e", "files"),
			item("file", "/f", "files"),
		}), []string{
			"warning: a run was interrupted during 6 changes of step files: /a; /b; /c; /d; /e; and 1 more => " +
				"hcp-node-agent join # completes the changes; hcp-node-agent leave reverts all changes",
		}},

		"no drift": {driftFindings(nil, 3, false), []string{"ok: no drift (recorded changes: 3)"}},
		"drift": {driftFindings([]ledger.Difference{
			{Item: item("file", "/a", "files")},
			{Item: item("unit", "x.service", "system"), Now: stopped},
			{Item: item("unit", "kubelet.service", "kubelet"), Now: disabled},
		}, 3, false), []string{
			"warning: drift: 3 of 3 items differ: file /a (current: absent); unit x.service (current: enabled inactive); " +
				"unit kubelet.service (current: disabled inactive) => hcp-node-agent join # restores the joined state; to " +
				"list all drift: hcp-node-agent status",
		}},
		"drift that the units report": {
			driftFindings([]ledger.Difference{{Item: item("unit", "kubelet.service", "kubelet"), Now: stopped}}, 3, false),
			[]string{},
		},
		"drift that is not known": {driftFindings(nil, 3, true), []string{}},
	} {
		t.Run(name, func(t *testing.T) { checkFindings(t, test.want, test.found) })
	}
}

func TestDoctorReportsCertificates(t *testing.T) {
	const client = "CN=system:node:worker-7,O=system:nodes"
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	days := func(from, to int) *identity.Certificate {
		return &identity.Certificate{
			Subject:   client,
			Names:     []string{"worker-7", "192.0.2.7"},
			NotBefore: now.AddDate(0, 0, from),
			NotAfter:  now.AddDate(0, 0, to),
		}
	}
	const remedy = " => hcp-node-agent join --user-data USER_DATA # with current user data; requests a new certificate"
	const approve = "oc get csr --field-selector spec.signerName=kubernetes.io/kubelet-serving # then: oc adm " +
		"certificate approve NAME for this node's newest CSR"
	whose := "kubelet's client certificate of " + client
	for name, test := range map[string]struct {
		facts certificateFacts
		want  []string
	}{
		"good": {certificateFacts{Client: days(-50, 50), Serving: days(-50, 50)}, []string{
			"ok: " + whose + " is valid until 2026-07-21T00:00:00Z", "ok: kubelet's serving certificate of " +
				client + " is valid until 2026-07-21T00:00:00Z",
		}},
		"not due": {certificateFacts{}, []string{}},
		"no client": {
			certificateFacts{RequiresClient: true},
			[]string{"problem: kubelet has no client certificate and cannot connect to the API server" + remedy},
		},
		"unread": {
			certificateFacts{RequiresClient: true, clientErr: fs.ErrPermission},
			[]string{},
		},
		"expired": {
			certificateFacts{Client: days(-50, -1)},
			[]string{"problem: " + whose + " expired on 2026-05-31T00:00:00Z" + remedy},
		},
		"late": {
			certificateFacts{Client: days(-95, 5)},
			[]string{
				"warning: " + whose +
					" expires on 2026-06-06T00:00:00Z; kubelet should have renewed it => journalctl -b -u kubelet; oc get csr # " +
					"shows whether a CSR is pending",
			},
		},
		"clock": {
			certificateFacts{Client: days(1, 5)},
			[]string{
				"problem: " + whose +
					" is not valid before 2026-06-02T00:00:00Z, but this host's clock shows 2026-06-01T00:00:00Z => chronyc " +
					"makestep # or: timedatectl set-ntp true",
			},
		},
		"serving certificate expired": {
			certificateFacts{Serving: days(-50, -1)},
			[]string{"problem: kubelet's serving certificate of " + client + " expired on 2026-05-31T00:00:00Z => " + approve},
		},
		"foreign": {
			certificateFacts{Foreign: report.Fail(report.Refused, "leave it", "another cluster's")},
			[]string{"problem: another cluster's => leave it"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.facts.Now = now
			checkFindings(t, test.want, test.facts.evaluate())
		})
	}
}
