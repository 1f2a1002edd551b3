// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// ignitionConfig returns the path of the Ignition config in the directory of the keys.
func ignitionConfig(dir string) string { return filepath.Join(dir, "config.ign") }

// provision prepares the first boot of a foreign disk: keys for ssh, and the configuration that installs them.
func (m *Machine) provision(ctx context.Context) error {
	access, err := newAccess(ctx, m.cfg.Image)
	if err != nil {
		return err
	}
	if !m.cfg.Ignition {
		return m.Seed(ctx, access.cloudInit(m.cfg.Hostname))
	}
	config, err := access.ignition(m.cfg.Hostname)
	if err != nil {
		return err
	}
	return os.WriteFile(ignitionConfig(m.cfg.Image), config, 0o600)
}

// access has the keys for ssh: root's public key, and both keys of the host, which is therefore known to ssh.
type access struct{ root, hostPublic, hostPrivate string }

// newAccess creates keys in dir, under the names that newChannel expects.
func newAccess(ctx context.Context, dir string) (a access, err error) {
	for _, name := range []string{"id_ed25519", "host"} {
		err = errors.Join(err,
			run(ctx, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", filepath.Join(dir, name)))
	}
	read := func(name string) string {
		content, readErr := os.ReadFile(filepath.Join(dir, name))
		err = errors.Join(err, readErr)
		return strings.TrimSpace(string(content))
	}
	a = access{root: read("id_ed25519.pub"), hostPublic: read("host.pub"), hostPrivate: read("host")}
	err = errors.Join(err, os.WriteFile(filepath.Join(dir, "known_hosts"), []byte("machine "+a.hostPublic+"\n"), 0o600))
	if err != nil {
		return a, fmt.Errorf("creating keys for ssh: %w", err)
	}
	return a, nil
}

// cloudInit returns the files of cloud-init's data source NoCloud.
func (a access) cloudInit(hostname string) map[string]string {
	private := strings.ReplaceAll(a.hostPrivate, "\n", "\n    ")
	return map[string]string{
		"meta-data": "instance-id: " + hostname + "\nlocal-hostname: " + hostname + "\n",
		"user-data": `#cloud-config
disable_root: false
ssh_authorized_keys:
  - ` + a.root + `
ssh_keys:
  ed25519_private: |
    ` + private + `
  ed25519_public: ` + a.hostPublic + "\n",
	}
}

// ignition returns an Ignition config.
func (a access) ignition(hostname string) ([]byte, error) {
	type object = map[string]any
	file := func(path, content string, mode int) object {
		source := "data:;base64," + base64.StdEncoding.EncodeToString([]byte(content))
		return object{"path": path, "mode": mode, "overwrite": true, "contents": object{"source": source}}
	}
	return json.Marshal(object{
		"ignition": object{"version": "3.2.0"},
		"passwd": object{"users": []object{
			{"name": "root", "sshAuthorizedKeys": []string{a.root}},
			{"name": "core", "sshAuthorizedKeys": []string{a.root}},
		}},
		"storage": object{"files": []object{
			file("/etc/hostname", hostname+"\n", 0o644),
			file("/etc/ssh/ssh_host_ed25519_key", a.hostPrivate+"\n", 0o600),
			file("/etc/ssh/ssh_host_ed25519_key.pub", a.hostPublic+"\n", 0o644),
		}},
	})
}

// waitUplink waits until root can log in over the uplink, which is then the machine's channel, too.
func (m *Machine) waitUplink(ctx context.Context) error {
	network := m.cfg.nics()[0].Network
	for {
		addresses, err := network.neighbors(ctx, m.cfg.mac(0))
		for _, address := range addresses {
			channel := newChannel(m.cfg.Image, m.sockets, "uplink", network.enter(), address, "22")
			if err = channel.Connect(ctx); err == nil {
				m.Channel, m.uplink = channel, channel
				return nil
			}
		}
		if m.qemu.Ended() {
			return fmt.Errorf("waiting for ssh: qemu has ended: %w (see %s)", m.qemu.Err(), m.Console())
		}
		if sleep(ctx, time.Second) != nil {
			return fmt.Errorf("waiting for ssh on %v: %w; the last attempt: %w (see %s)", addresses, context.Cause(ctx),
				err, m.Console())
		}
	}
}

// neighbors returns the IPv4 addresses at which a network card is known in the namespace. The DHCP server enters each
// lease in the table of the kernel, so it has the address before the guest has sent a packet from it.
func (n Network) neighbors(ctx context.Context, mac string) ([]string, error) {
	args := append(n.enter(), "ip", "-json", "-4", "neighbor", "show", "dev", n.Bridge)
	listing, err := exec.CommandContext(ctx, args[0], args[1:]...).Output()
	if err != nil {
		return nil, fmt.Errorf("listing the neighbors of %s: %w", n.Bridge, err)
	}
	return neighborAddresses(listing, mac)
}

// neighborAddresses returns the addresses of a network card from ip's JSON output.
func neighborAddresses(listing []byte, mac string) ([]string, error) {
	var neighbors []struct {
		Address string `json:"dst"`
		MAC     string `json:"lladdr"`
	}
	if err := json.Unmarshal(listing, &neighbors); err != nil {
		return nil, fmt.Errorf("reading ip's listing: %w", err)
	}
	var addresses []string
	for _, neighbor := range neighbors {
		if neighbor.MAC == mac {
			addresses = append(addresses, neighbor.Address)
		}
	}
	return addresses, nil
}

// enter returns the command prefix that enters the namespace.
func (n Network) enter() []string { return []string{"nsenter", "--net=" + n.Namespace, "--"} }
