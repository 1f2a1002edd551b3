// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
)

func TestHostGatherFacts(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"10-a.conflist": "{}", "20-b.conf": "{}", "README": "", ".30-c.conflist.new": "{}",
		"config.json.sample": "", "auth": `{"auths":{"quay.io":{"auth":"canary"}}}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := Host{
		CNIDirectory: dir, PullSecret: filepath.Join(dir, "auth"),
		Disks: []string{dir, filepath.Join(dir, "none")},
	}.gatherFacts(t.Context())
	if got := strings.Join(f.networkConfigs, " "); got != "10-a.conflist 20-b.conf" {
		t.Errorf("networks = %q", got)
	}
	if got := strings.Join(f.registries, " "); got != "quay.io" || strings.Contains(fmt.Sprintf("%+v", f), "canary") {
		t.Errorf("auths = %q in %+v", got, f)
	}
	if len(f.disks) != 1 || f.totalKiB == 0 || f.maxTasks == 0 || f.units != nil || f.runtimeErr != nil {
		t.Errorf("gatherFacts() = %+v", f)
	}
}

// A missing socket, and a socket of another service.
func TestCheckRuntime(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	h := Host{Socket: socket}
	if f := h.gatherFacts(t.Context()); f.runtimeErr == nil {
		t.Error("gatherFacts() does not ask CRI-O")
	}
	if err := h.checkRuntime(t.Context()); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("checkRuntime() = %v without a socket", err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.checkRuntime(over); err != nil {
		t.Errorf("checkRuntime() = %v when our own time is over", err)
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer() // without the services of CRI
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()
	if err := h.checkRuntime(t.Context()); err == nil || !strings.Contains(err.Error(), "Unimplemented") {
		t.Errorf("checkRuntime() = %v from a server that is no CRI-O", err)
	}
}

func TestIsBlocking(t *testing.T) {
	for name, test := range map[string]struct {
		unit  string
		state systemd.UnitState
		want  bool
	}{
		"not found": {
			unit: "a.service", state: systemd.UnitState{Load: "not-found", Active: "inactive"},
			want: true,
		},
		"masked target": {
			unit: "a.target", state: systemd.UnitState{Load: "masked", Active: "inactive"},
			want: true,
		},
		"failed": {
			unit: "a.service", state: systemd.UnitState{Load: "loaded", Active: "failed"},
			want: true,
		},
		"starting": {
			unit: "a.service", state: systemd.UnitState{Load: "loaded", Active: "activating"},
			want: true,
		},
		"oneshot that is over": {
			unit:  "a.service",
			state: systemd.UnitState{Load: "loaded", Active: "inactive", Result: "success"},
		},
		"target of others": {
			unit:  "kubelet-dependencies.target",
			state: systemd.UnitState{Load: "loaded", Active: "failed"},
		},
	} {
		if got := isBlocking(test.unit, test.state); got != test.want {
			t.Errorf("%s: isBlocking() = %v", name, got)
		}
	}
}
