// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	ignition "github.com/coreos/ignition/v2/config/v3_6"
	"sigs.k8s.io/yaml"
)

// A foreign disk boots by its own boot loader, with one card.
func TestForeignDisk(t *testing.T) {
	network := Network{Namespace: "/ns", Bridge: "br"}
	cfg, err := Config{Disk: "/disk.qcow2", Ignition: true, Network: network}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	cfg.Image = "/keys"
	all := strings.Join(hardware{Config: cfg, accel: tcg, tapFDs: []int{3}, qmpFD: 4}.arguments(), " ")
	if !strings.Contains(all, "-fw_cfg name=opt/com.coreos/config,file=/keys/config.ign") ||
		strings.Contains(all, "-kernel") || strings.Count(all, "virtio-net-pci") != 1 {
		t.Errorf("arguments: %s", all)
	}
}

// Both configurations install the keys that the channel expects.
func TestAccess(t *testing.T) {
	dir := t.TempDir()
	a, err := newAccess(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	known, err := os.ReadFile(filepath.Join(dir, "known_hosts"))
	if err != nil || string(known) != "machine "+a.hostPublic+"\n" || !strings.HasPrefix(a.hostPublic, "ssh-ed25519 ") {
		t.Errorf("known hosts: %s (%v)", known, err)
	}
	private, err := os.ReadFile(filepath.Join(dir, "host"))
	if err != nil {
		t.Fatal(err)
	}

	config, err := a.ignition("worker-7")
	if err != nil {
		t.Fatal(err)
	}
	if _, report, err := ignition.ParseCompatibleVersion(config); err != nil || len(report.Entries) > 0 {
		t.Errorf("Ignition refuses the config: %v %v", err, report)
	}

	files := a.cloudInit("worker-7")
	var user struct {
		DisableRoot bool              `json:"disable_root"`
		Authorized  []string          `json:"ssh_authorized_keys"`
		Keys        map[string]string `json:"ssh_keys"`
	}
	if err := yaml.UnmarshalStrict([]byte(files["user-data"]), &user); err != nil {
		t.Fatal(err)
	}
	if user.DisableRoot || !slices.Equal(user.Authorized, []string{a.root}) ||
		user.Keys["ed25519_private"] != string(private) || user.Keys["ed25519_public"] != a.hostPublic {
		t.Errorf("user data: %+v", user)
	}
}

func TestNeighborAddresses(t *testing.T) {
	addresses, err := neighborAddresses([]byte(`[{"dst":"192.0.2.104","lladdr":"5e:1e:2e:3e:4e:5e","state":["STALE"]},
		{"dst":"192.0.2.9","state":["FAILED"]},{"dst":"192.0.2.105","lladdr":"5e:1e:2e:3e:4e:5f"}]`), "5e:1e:2e:3e:4e:5e")
	if err != nil || !slices.Equal(addresses, []string{"192.0.2.104"}) {
		t.Errorf("%v, %v", addresses, err)
	}
}
