// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The addresses of the control channel must match those in the image.
func TestControlChannelMatchesImage(t *testing.T) {
	systemd := filepath.Join("..", "image", "overlay", "usr", "lib", "systemd")
	for file, want := range map[string]string{
		filepath.Join(systemd, "network",
			"10-control-channel.link"): "PermanentMACAddress=" + controlMAC + "\n",
		filepath.Join(systemd, "system", "control-channel.service"): "replace " +
			controlAddress + "/24 dev ctl0\n",
		filepath.Join("..", "image", "lib",
			"init"): "machine.hostname=*)",
		filepath.Join("..", "image", "overlay", "usr", "lib", "NetworkManager", "conf.d",
			"20-machine.conf"): "interface-name:ctl0\nmanaged=0",
	} {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(content), want) {
			t.Errorf("%s does not contain %q", file, want)
		}
	}
}

func TestArguments(t *testing.T) {
	cfg, err := Config{Image: "/image", Network: Network{Namespace: "/ns", Bridge: "br"}}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	h := hardware{Config: cfg, accel: tcg, disk: "/a,b/disk", tapFDs: []int{3}, qmpFD: 4}
	booting := h.arguments()
	h.incoming = true
	// A saved state requires the same hardware as when it was saved.
	if diff := cmp.Diff(append(slices.Clone(booting), "-incoming", "defer"), h.arguments()); diff != "" {
		t.Errorf("waiting for a live state changes the machine:\n%s", diff)
	}
	all := strings.Join(booting, " ")
	for _, want := range []string{
		"file=/a,,b/disk", "machine.hostname=worker-0", "tap,id=tap,fd=3", "socket,id=qmp,fd=4",
		"mac=" + cfg.mac(0), "-m 2048",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("arguments lack %q:\n%s", want, all)
		}
	}
}

func TestSELinuxIsOffByDefault(t *testing.T) {
	off, on := hardware{}.kernelArguments(), hardware{Config: Config{SELinux: true}}.kernelArguments()
	if !strings.Contains(off, " lsm=yama ") || !strings.Contains(on, " lsm=selinux selinux=1 enforcing=0 ") {
		t.Errorf("off: %s\non: %s", off, on)
	}
}

func TestMACIsDerivedFromName(t *testing.T) {
	a, b := Config{Name: "worker-0"}.mac(0), Config{Name: "worker-1"}.mac(0)
	hasNoE := func(part string) bool { return !strings.Contains(part, "e") }
	if a == b || a == controlMAC || slices.ContainsFunc(strings.Split(a, ":"), hasNoE) {
		t.Errorf("worker-0 has %s and worker-1 has %s", a, b)
	}
	if again := (Config{Name: "worker-0"}).mac(0); again != a {
		t.Errorf("worker-0 has %s, then %s", a, again)
	}
}

func TestConfigRequiresImageAndNetwork(t *testing.T) {
	for name, cfg := range map[string]Config{
		"image": {Network: Network{Namespace: "/ns", Bridge: "br"}},
		"disk": {
			Image: "/image", Disk: "/disk.qcow2", Network: Network{Namespace: "/ns", Bridge: "br"},
		},
		"bridge":  {Disk: "/disk.qcow2", Network: Network{Namespace: "/ns", Switch: fakeSwitch{}}},
		"network": {Image: "/image", Network: Network{Namespace: "/ns"}},
		"either":  {Image: "/image", Network: Network{Namespace: "/ns", Bridge: "br", Switch: fakeSwitch{}}},
	} {
		if _, err := cfg.withDefaults(); err == nil || !strings.Contains(strings.ToLower(err.Error()), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

// The kernel names network cards in the order in which it finds them.
func TestSeveralCards(t *testing.T) {
	socket := Network{Namespace: "/ns", Switch: fakeSwitch{}}
	cfg, err := Config{Image: "/image", NICs: []NIC{{Network: socket}, {Network: socket, Unplugged: true}}}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	h := hardware{Config: cfg, accel: tcg, tapFDs: []int{4, 5}, qmpFD: 3, missing: map[int]bool{0: true}}
	all := strings.Join(h.arguments(), " ")
	last := 0
	for _, want := range []string{
		"tap,id=tap,fd=4", "pcie-root-port,id=socket,", "tap,id=tap1,fd=5", "pcie-root-port,id=socket1,",
		"virtio-net-pci,id=uplink1,netdev=tap1,romfile=,mac=" + cfg.mac(1) + ",bus=socket1,speed=1000,duplex=full,csum=off",
		"pcie-root-port,id=socket-control,", "mac=" + controlMAC + ",bus=socket-control",
	} {
		at := strings.Index(all, want)
		if at < last {
			t.Errorf("arguments lack %q, or have it too early:\n%s", want, all)
		}
		last = max(last, at)
	}
	if strings.Contains(all, "id=uplink,") {
		t.Error("the missing card exists")
	}
	if cfg.mac(0) == cfg.mac(1) {
		t.Error("both cards have the same address")
	}
}

type fakeSwitch struct{}

func (fakeSwitch) Plug(context.Context, string) error   { return nil }
func (fakeSwitch) Unplug(context.Context, string) error { return nil }
