package kubelet

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

func TestMachineLook(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"10-a.conflist": "{}", "20-b.conf": "{}", "README": "", ".30-c.conflist.new": "{}",
		"config.json.sample": "", "auth": `{"auths":{"quay.io":{"auth":"canary"}}}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := Machine{CNIDirectory: dir, PullSecret: filepath.Join(dir, "auth"), Disks: []string{dir, filepath.Join(dir, "none")}}.look(t.Context())
	if got := strings.Join(f.networks, " "); got != "10-a.conflist 20-b.conf" {
		t.Errorf("networks = %q", got)
	}
	if got := strings.Join(f.auths, " "); got != "quay.io" || strings.Contains(fmt.Sprintf("%+v", f), "canary") {
		t.Errorf("auths = %q in %+v", got, f)
	}
	if len(f.disks) != 1 || f.memory.total == 0 || f.tasks.most == 0 || f.units != nil || f.runtime != nil {
		t.Errorf("look() = %+v", f)
	}
}

// A missing socket, and a socket of another service.
func TestRuntimeAnswers(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	m := Machine{Socket: socket}
	if f := m.look(t.Context()); f.runtime == nil {
		t.Error("look() does not ask CRI-O")
	}
	if err := m.runtime(t.Context()); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("runtime() = %v without a socket", err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.runtime(over); err != nil {
		t.Errorf("runtime() = %v when our own time is over", err)
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer() // without the services of CRI
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()
	if err := m.runtime(t.Context()); err == nil || !strings.Contains(err.Error(), "Unimplemented") {
		t.Errorf("runtime() = %v from a server that is no CRI-O", err)
	}
}

func TestHinders(t *testing.T) {
	for name, test := range map[string]struct {
		unit  string
		state host.UnitState
		want  bool
	}{
		"not found":            {"a.service", host.UnitState{Load: "not-found", Active: "inactive"}, true},
		"masked target":        {"a.target", host.UnitState{Load: "masked", Active: "inactive"}, true},
		"failed":               {"a.service", host.UnitState{Load: "loaded", Active: "failed"}, true},
		"starting":             {"a.service", host.UnitState{Load: "loaded", Active: "activating"}, true},
		"oneshot that is over": {"a.service", host.UnitState{Load: "loaded", Active: "inactive", Result: "success"}, false},
		"target of others":     {"kubelet-dependencies.target", host.UnitState{Load: "loaded", Active: "failed"}, false},
	} {
		if got := hinders(test.unit, test.state); got != test.want {
			t.Errorf("%s: hinders() = %v", name, got)
		}
	}
}
