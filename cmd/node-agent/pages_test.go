// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/doctor"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/leave"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/bootunits"
	"github.com/hcp-node-agent/hcp-node-agent/internal/preflight"
	"github.com/hcp-node-agent/hcp-node-agent/internal/preview"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
	"github.com/hcp-node-agent/hcp-node-agent/internal/status"
)

// Every page is compared at the width of usual terminals and in a pipe. UPDATE=1 writes the files.
func TestPages(t *testing.T) {
	for name, print := range map[string]func(*report.Page){
		"status":          func(page *report.Page) { joinedStatus().Print(page, finished.Add(50*time.Hour)) },
		"status-drift":    func(page *report.Page) { driftedStatus().Print(page, finished.Add(90*time.Minute)) },
		"status-joining":  func(page *report.Page) { joiningStatus().Print(page, finished.Add(time.Minute)) },
		"status-none":     func(page *report.Page) { status.Document{Phase: joinstate.PhaseNone}.Print(page, finished) },
		"preflight":       func(page *report.Page) { printPreflight(page, preflightDocument()) },
		"doctor":          doctorReport().Print,
		"doctor-healthy":  doctor.Report{Hostname: "worker-7", Findings: doctorReport().Findings[3:]}.Print,
		"leave":           func(page *report.Page) { printLeave(page, leaveDocument()) },
		"leave-few":       func(page *report.Page) { printLeave(page, leave.Document{Restored: 111}) },
		"leave-preview":   func(page *report.Page) { printLeavePreview(page, leavePreview()) },
		"leave-unchanged": func(page *report.Page) { printLeavePreview(page, leave.PreviewDocument{}) },
	} {
		for _, width := range []int{80, 120, 0} {
			var out bytes.Buffer
			print(&report.Page{Writer: &out, Width: width})
			file := filepath.Join("testdata", "pages", fmt.Sprintf("%s-%d.txt", name, width))
			if width == 0 {
				file = filepath.Join("testdata", "pages", name+"-pipe.txt")
			}
			checkGolden(t, file, out.Bytes())
		}
	}
}

// checkGolden compares content with a file.
func checkGolden(t *testing.T, file string, content []byte) {
	t.Helper()
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(content)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

var finished = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func joinedStatus() status.Document {
	active := systemd.UnitState{Load: "loaded", Active: "active", File: "enabled"}
	return status.Document{
		Phase: joinstate.PhaseJoined,
		Join: &status.Join{
			NodeName:  "worker-7",
			NodePool:  "clusters/demo-workers",
			APIServer: "https://api.demo.example.com:6443",
			Started:   finished.Add(-time.Minute),
			Finished:  finished,
		},
		Software: &software.Contents{Release: software.Release{Major: 4, Minor: 19}, RHEL: "9.6"},
		Changes:  111,
		Units: map[string]systemd.UnitState{
			"kubelet.service": active, "crio.service": active, "openvswitch.service": active, "NetworkManager.service": active,
		},
		Bridge: &ovs.Status{
			Present: true, Exists: true, Uplink: "eth0", MTU: 1500,
			Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.7/24")},
			Ports:     []openvswitch.Interface{{Name: "eth0"}},
			NodeIPs:   []netip.Addr{netip.MustParseAddr("192.0.2.7")},
			Migration: &ovs.Record{
				Uplink: "eth0", MigratedAt: finished, Outage: &hostnet.Outage{LongestSeconds: 0.04, Sent: 10, Received: 9},
			},
		},
		Node: &node.Status{Name: "worker-7", Ready: true, Kubelet: "v1.31.6"},
		Certificates: []status.Certificate{
			{Name: "client", Expires: finished.AddDate(1, 0, 0)},
			{Name: "serving", Expires: finished.AddDate(1, 0, 0)},
		},
	}
}

func driftedStatus() status.Document {
	document := joinedStatus()
	mode := uint32(0o600)
	document.Units[bootunits.NodeIPUnit] = systemd.UnitState{Load: "loaded", Active: "failed", File: "enabled"}
	document.Units["kubelet.service"] = systemd.UnitState{Load: "not-found"}
	document.Node = &node.Status{
		Name:   "worker-7",
		Reason: "KubeletNotReady: container runtime is down",
		Taints: []string{"a=b:NoSchedule"},
	}
	document.Drift = []ledger.PublishedDifference{
		{Kind: ledger.File, Target: "/etc/sysctl.d/arp.conf", Desired: ledger.State{Present: true}},
		{
			Kind: ledger.File, Target: "/etc/crio/crio.conf.d/00-default",
			Desired: ledger.State{Present: true, Digest: "1e240c6f3b5a7d9e", Size: 400},
			Now:     ledger.State{Present: true, Digest: "2e240c6f3b5a7d9e", Size: 401, Mode: &mode},
		},
		{Kind: ledger.File, Target: "/etc/kubernetes/kubeconfig", Now: ledger.State{Present: true}},
	}
	document.Errors = []string{
		"getting Node worker-7: connecting to https://api.demo.example.com:6443: connection refused",
	}
	return document
}

func joiningStatus() status.Document {
	join := *joinedStatus().Join
	join.Finished, join.LastStep = time.Time{}, "network"
	return status.Document{Phase: joinstate.PhaseJoining, Join: &join, Changes: 107}
}

func preflightDocument() preview.PreflightDocument {
	return preview.PreflightDocument{Result: preflight.Result{Checked: 18, Findings: []report.Finding{
		{
			Check: "firewall", Severity: report.SeverityWarning, Remedy: "firewall-cmd --list-all-zones",
			Message: "firewalld is running, and drops the traffic of the cluster network that arrives on the uplink",
		},
		{
			Check: "network-manager", Severity: report.SeverityProblem, RefusesJoin: true,
			Message: "NetworkManager is not running",
			Remedy:  "# br-ex is built with NetworkManager\nsystemctl enable --now NetworkManager",
		},
	}}}
}

func doctorReport() doctor.Report {
	return doctor.Report{
		Hostname: "worker-7.example.com", NodeName: "worker-7", Phase: joinstate.PhaseJoined,
		Findings: []report.Finding{
			{
				Check:    "units",
				Severity: report.SeverityProblem,
				Message:  "kubelet.service is not running (inactive)",
				Remedy:   "systemctl start kubelet",
			},
			{
				Check: "certificates", Severity: report.SeverityWarning,
				Message: "kubelet's serving certificate expires at 2026-02-02T03:04:05Z; its renewal awaits approval\n" +
					"names worker-7, 192.0.2.7",
				Remedy: "oc adm certificate approve node-csr-HRsxdx9sKb1u8wl29l7qtAtT3LoenduyQtt1axnSBpY # on the hosted cluster",
			},
			{Check: "journal", Severity: report.SeverityNote, Message: "kubelet logged 2 errors"},
			{Check: "host", Severity: report.SeverityOK, Message: "18 checks"},
		},
	}
}

func leaveDocument() leave.Document {
	return leave.Document{
		Restored: 111,
		Removed:  []string{"/var/lib/kubelet/pki"},

		RemovedImages: []string{"quay.io/a/b@sha256:0", "quay.io/a/c@sha256:0"},
		RemovedPackages: []string{
			"openshift-kubelet", "cri-o", "conmon", "container-selinux", "openvswitch3.5", "NetworkManager-ovs",
		},
		Kept: []ledger.PublishedDifference{{Kind: ledger.File, Target: "/opt/cni/bin/own"}},
		Next: "oc delete node worker-7",
	}
}

func leavePreview() leave.PreviewDocument {
	return leave.PreviewDocument{
		Steps: []string{"drain the node", "stop kubelet and all pods"},
		Created: []leave.CreatedPaths{
			{Directory: "/var/lib/kubelet", Count: 1432, Action: leave.Remove},
			{Directory: "/etc/cni", Count: 1, Action: leave.Keep, Paths: []string{"/etc/cni/net.d/mine.conflist"}},
		},
		Images:   []string{"quay.io/a/b@sha256:0"},
		Packages: []string{"cri-o", "openshift-kubelet"},
		Changes: []leave.Change{
			{Kind: ledger.Unit, Target: "kubelet.service", Action: leave.Restore},
			{Kind: ledger.File, Target: "/etc/a\nb", Action: leave.Remove},
		},
		Drift: []ledger.PublishedDifference{{Kind: ledger.File, Target: "/etc/c"}},
		NotRestored: []string{
			"kernel modules that the join has loaded remain loaded until the next boot, as other processes may use them",
		},
		Next: "oc delete node worker-7",
	}
}
