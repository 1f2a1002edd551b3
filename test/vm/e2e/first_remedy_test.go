// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// nodeFault is something that happens to a node, and what an administrator reads first.
type nodeFault struct {
	name  string
	make  string // makes the fault, and waits for its effect
	first string // part of the first finding of doctor
	// remedy is part of the first remedy. The node is healthy after the whole remedy was run.
	remedy string
	// correct removes the cause that the output of a remedy shows, if the remedy itself only examines.
	correct string
}

const (
	awaitRestarts = "until [ $(systemctl show -P NRestarts kubelet) -ge 2 ]; do sleep 1; done"
	cutAPIServer  = `server=$(hcp-node-agent status --output json | jq -r .join.apiServer | sed 's,^https://,,')
		nft "add table inet hcp_test; add chain inet hcp_test cut { type filter hook output priority 0; }
			add rule inet hcp_test cut ip daddr $(getent ahostsv4 ${server%:*} | awk 'NR==1{print $1}') tcp dport ${server#*:} "`
)

// nodeFaults lists them. After each, the node is as before.
var nodeFaults = []nodeFault{
	{
		name: "kubelet stopped", make: "systemctl stop kubelet",
		first: "kubelet.service is not running", remedy: "systemctl start kubelet",
	},
	{
		name: "kubelet disabled", make: "systemctl disable kubelet",
		first: "kubelet.service", remedy: "hcp-node-agent join",
	},
	{
		name:  "configuration of kubelet broken",
		make:  "echo 'broken: [' >>/etc/kubernetes/kubelet.conf; systemctl restart kubelet || true; " + awaitRestarts,
		first: "/etc/kubernetes/kubelet.conf", remedy: "hcp-node-agent join",
	},
	{
		name: "flag that kubelet does not have",
		make: "install -d /etc/systemd/system/kubelet.service.d; " +
			`printf '[Service]\nExecStart=\nExecStart=/usr/bin/kubelet --no-such-flag\n' ` +
			">/etc/systemd/system/kubelet.service.d/90-site.conf; " +
			"systemctl daemon-reload; systemctl restart kubelet || true; " + awaitRestarts,
		first: "--no-such-flag", remedy: "kubelet",
		correct: "rm /etc/systemd/system/kubelet.service.d/90-site.conf; systemctl daemon-reload; systemctl restart kubelet",
	},
	{
		name: "unit of kubelet removed", make: "rm /etc/systemd/system/kubelet.service; systemctl daemon-reload",
		first: "kubelet.service", remedy: "hcp-node-agent join",
	},
	{
		name:  "client certificate removed",
		make:  "rm /var/lib/kubelet/pki/kubelet-client-current.pem; systemctl restart kubelet || true",
		first: "client certificate", remedy: "hcp-node-agent join",
	},
	{
		name: "CRI-O stopped", make: "systemctl stop crio",
		first: "crio.service is not running", remedy: "systemctl start crio kubelet",
	},
	{
		name:  "configuration of CRI-O broken",
		make:  "echo 'broken = [' >/etc/crio/crio.conf.d/99-site.conf; systemctl restart crio || true",
		first: "crio.service", remedy: "crio",
		correct: "rm /etc/crio/crio.conf.d/99-site.conf; systemctl restart crio kubelet",
	},
	{
		name: "pause image dropped", make: "rm /etc/crio/crio.conf.d/99-hcp-node-agent.conf",
		first: "99-hcp-node-agent.conf", remedy: "hcp-node-agent join",
	},
	{
		name: "pull secret removed", make: "rm /var/lib/kubelet/config.json",
		first: "/var/lib/kubelet/config.json", remedy: "hcp-node-agent join",
	},
	{
		name: "host renamed", make: "hostnamectl set-hostname worker-9; systemctl restart kubelet",
		first: "worker-9", remedy: "hostnamectl set-hostname " + testenv.NodeName,
	},
	{
		name: "clock ahead", make: "date -s '+20 minutes' >/dev/null",
		first: "clock", remedy: "chronyc makestep", correct: "date -s '-20 minutes' >/dev/null",
	},
	{
		name: "API server drops packets", make: cutAPIServer + "drop",
		first: "did not respond", remedy: "curl", correct: "nft delete table inet hcp_test",
	},
	{
		name: "API server refuses", make: cutAPIServer + "'reject with tcp reset'",
		first: "refused the connection", remedy: "curl", correct: "nft delete table inet hcp_test",
	},
	{
		name: "NetworkManager stopped", make: "systemctl stop NetworkManager",
		first: "NetworkManager", remedy: "systemctl", // enable --now
	},
	{
		name: "Open vSwitch stopped", make: "systemctl stop openvswitch",
		first: "openvswitch.service is not running", remedy: "systemctl start openvswitch",
	},
	{
		// NetworkManager creates a br-ex again whose profiles exist.
		name: "br-ex deleted", make: "nmcli connection delete ovs-if-br-ex br-ex",
		first: "br-ex", remedy: "hcp-node-agent join",
	},
	{
		name: "no default route", make: "ip route del default",
		first: "default route", remedy: "nmcli device reapply br-ex",
	},
	{
		name: "sysctl changed", make: "sysctl -qw vm.overcommit_memory=2",
		first: "vm.overcommit_memory", remedy: "hcp-node-agent join",
	},
	{
		name: "disk full",
		make: "fallocate -l $(($(stat -f -c '%a*%S' /var/lib/kubelet) - 200*1024*1024)) /var/lib/kubelet/full; " +
			"until hcp-node-agent status | grep -q disk-pressure; do sleep 5; done",
		first: "a disk is nearly full", remedy: "du",
		correct: "rm /var/lib/kubelet/full; until ! hcp-node-agent status | grep -q disk-pressure; do sleep 5; done",
	},
	{
		name: "configuration of the network plugin removed",
		make: "cp -a /etc/kubernetes/cni/net.d /root/; rm -f /etc/kubernetes/cni/net.d/*; systemctl restart crio kubelet; " +
			"until hcp-node-agent status | grep -q NetworkPluginNotReady; do sleep 5; done",
		first: "network plugin", remedy: "oc",
		correct: "cp -a /root/net.d/. /etc/kubernetes/cni/net.d/; systemctl restart crio kubelet",
	},
	{
		name: "service of the agent stopped", make: "systemctl stop hcp-node-agent",
		first: "hcp-node-agent.service", remedy: "systemctl start hcp-node-agent",
	},
}

// An administrator who reads only the first finding of doctor, and runs its remedy, has a healthy node again.
func TestFirstRemedy(t *testing.T) {
	ctx := newContext(t)
	runAgent(ctx, t, report.Success, joinCommand)
	awaitReadyNode(ctx, t)
	for _, fault := range nodeFaults {
		part := func(t *testing.T) { testFault(ctx, t, fault) }
		if !t.Run(fault.name, part) && !t.Run("node healthy after the failed part", func(t *testing.T) {
			if fault.correct != "" {
				mustOutput(ctx, t, fault.correct)
			}
			runAgent(ctx, t, report.Success, joinCommand)
			await(ctx, t, "hcp-node-agent doctor")
		}) {
			t.Fatalf("the node is not healthy after %q", fault.name)
		}
	}
}

func testFault(ctx context.Context, t *testing.T, fault nodeFault) {
	t.Helper()
	mustOutput(ctx, t, fault.make)
	var document struct {
		Findings []struct {
			Severity report.Severity
			Message  string
			Remedy   struct{ Command, Note string }
		}
	}
	began := time.Now()
	read, err := environment.Machine.Run(ctx, "hcp-node-agent doctor --output json")
	must(t, err)
	t.Logf("doctor took %.0f s", time.Since(began).Seconds())
	must(t, json.Unmarshal([]byte(read.Stdout), &document))
	for i, one := range document.Findings {
		if one.Severity == report.SeverityOK {
			break
		}
		t.Logf("%d. %s: %s\n# %s\n%s", i+1, one.Severity, one.Message, one.Remedy.Note, one.Remedy.Command)
	}
	first := document.Findings[0]
	if !strings.Contains(first.Message, fault.first) || !strings.Contains(first.Remedy.Command, fault.remedy) {
		t.Errorf("the first finding does not contain %q, or its remedy %q:\n%s\n%s",
			fault.first, fault.remedy, first.Message, first.Remedy.Command)
	}
	remedy := strings.ReplaceAll(first.Remedy.Command, "USER_DATA",
		testenv.UserDataPath+" --approve-with "+testenv.ApproverKubeconfigPath)
	if result, err := environment.Machine.Run(ctx, remedy); err != nil || (result.ExitCode != 0 && fault.correct == "") {
		t.Errorf("the remedy failed: %+v, %v", result, err)
	}
	if fault.correct != "" {
		mustOutput(ctx, t, fault.correct)
	}
	awaitNextReport(ctx, t)
	await(ctx, t, "hcp-node-agent doctor")
}

// awaitNextReport waits until kubelet has renewed its Lease: the Node of a kubelet that has ended stays Ready for some
// time.
func awaitNextReport(ctx context.Context, t *testing.T) {
	t.Helper()
	var last *metav1.MicroTime
	waittest.Until(t, "waiting for kubelet to renew its Lease", func() (any, bool) {
		lease, err := environment.Client.CoordinationV1().Leases(corev1.NamespaceNodeLease).
			Get(ctx, testenv.NodeName, metav1.GetOptions{})
		if err != nil {
			return err, false
		}
		if last == nil {
			last = lease.Spec.RenewTime
		}
		return lease.Spec.RenewTime, !lease.Spec.RenewTime.Equal(last)
	})
}
