// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bundle"
	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
)

// collector collects files and command output of the host for a bundle.
type collector struct {
	tree   *hostfs.Tree
	dir    string // state directory of the agent
	run    func(ctx context.Context, maxBytes int, name string, args ...string) (last []byte, cut bool, err error)
	limits bundle.Limits
}

// pieces returns the pieces that the collector can provide.
func (g collector) pieces() []bundle.File {
	return slices.Concat(
		g.file("state/join.json", path.Join(g.dir, joinstate.StateFile)),
		g.file("state/bridge.json", path.Join(g.dir, joinstate.BridgeRecordFile)),
		g.listing("state/files.txt", g.dir, path.Join(g.dir, joinstate.KeyDir)),

		g.journal("hcp-node-agent", "hcp-node-agent", "hcp-node-agent*"),
		g.journal("kubelet", "kubelet"),
		g.journal("crio", "crio"),
		g.journal("networkmanager", "NetworkManager"),
		g.journal("openvswitch", "openvswitch", "ovsdb-server", "ovs-vswitchd"),

		g.command("units/show.txt", "systemctl", "show", "--no-pager",
			"--property=Id,LoadState,ActiveState,SubState,Result,UnitFileState,ActiveEnterTimestamp,NRestarts,FragmentPath,DropInPaths",
			kubelet.UnitName, crio.Unit, openVSwitchUnit, networkManagerUnit, machine.ServiceUnit),
		g.unit(kubelet.UnitName),
		g.unit(crio.Unit),
		g.files("crio", "/etc/crio/crio.conf.d"),
		g.file("kubelet/kubelet.conf", "/etc/kubernetes/kubelet.conf"),

		g.command("network/addresses.json", "ip", "-j", "-d", "address"),
		g.command("network/routes.json", "ip", "-j", "route", "show", "table", "all"),
		g.command("network/routes6.json", "ip", "-j", "-6", "route", "show", "table", "all"),
		g.command("network/rules.json", "ip", "-j", "rule"),
		g.command("network/rules6.json", "ip", "-j", "-6", "rule"),
		g.command("network/openvswitch.txt", "ovs-vsctl", "--timeout=10", "show"),
		g.command("network/nm-general.txt", "nmcli", "general"),
		g.command("network/nm-devices.txt", "nmcli", "device", "show"),
		g.command("network/nm-connections.txt", "nmcli", "connection", "show"),
		g.files("network/profiles", "/etc/NetworkManager/system-connections"),
		g.files("network/profiles-run", "/run/NetworkManager/system-connections"),
		g.listing("network/cni.txt", crio.NetworkDirectory, "/etc/cni/net.d"),
		g.file("network/resolv.conf", "/etc/resolv.conf"),

		g.certificates("certificates.json", identity.PKIDirectory),

		g.file("system/os-release", "/usr/lib/os-release"),
		g.command("system/kernel.txt", "uname", "-a"),
		g.command("system/packages.txt", "rpm", "-qa"),
		g.command("system/kubelet.txt", "kubelet", "--version"),
		g.command("system/crio.txt", "crio", "version"),
		g.command("system/runc.txt", "runc", "--version"),
		g.command("system/openvswitch.txt", "ovs-vsctl", "--version"),
		g.command("system/networkmanager.txt", "NetworkManager", "--version"),
	)
}

// command returns the output of a command. No argument of a command may be a
// secret.
func (g collector) command(name, program string, args ...string) []bundle.File {
	return []bundle.File{{Name: name, Source: strings.Join(append([]string{program}, args...), " "), Get: func(ctx context.Context) (bundle.Content, error) {
		out, cut, err := g.run(ctx, g.limits.File, program, args...)
		return bundle.Content{Bytes: out, Truncated: cut}, err
	}}}
}

// journal returns the last 5000 journal lines of the units since the last boot.
func (g collector) journal(name string, units ...string) []bundle.File {
	args := []string{"--boot", "--no-pager", "--quiet", "--output=short-iso-precise", "--lines=5000"}
	for _, unit := range units {
		args = append(args, "--unit="+unit)
	}
	return g.command("journal/"+name+".log", "journalctl", args...)
}

// unit returns the unit file and the drop-ins of a unit from all directories of
// systemd.
func (g collector) unit(name string) []bundle.File {
	var pieces []bundle.File
	for _, dir := range []string{"/usr/lib/systemd/system", "/run/systemd/system", "/etc/systemd/system"} {
		if there, err := g.tree.Exists(path.Join(dir, name)); err == nil && there {
			pieces = append(pieces, g.file(path.Join("units", dir, name), path.Join(dir, name))...)
		}
		pieces = append(pieces, g.files(path.Join("units", dir, name+".d"), path.Join(dir, name+".d"))...)
	}
	return pieces
}

// file returns a file of the host.
func (g collector) file(name, file string) []bundle.File {
	return []bundle.File{{Name: name, Source: file, Get: func(context.Context) (bundle.Content, error) {
		content, err := g.read(file)
		return bundle.Content{Bytes: content}, err
	}}}
}

func (g collector) read(file string) ([]byte, error) {
	info, err := g.tree.Lstat(file)
	switch {
	case err != nil:
		return nil, err
	case info.Type == hostfs.Absent:
		return nil, fmt.Errorf("%s does not exist", file)
	case info.Type == hostfs.Symlink:
		return []byte("link to " + info.Link + "\n"), nil
	case info.Size > int64(g.limits.File):
		return nil, fmt.Errorf("%s has %d bytes", file, info.Size)
	}
	content, _, err := g.tree.ReadFile(file)
	return content, err
}

// files returns all files in a directory; none if the directory does not exist.
func (g collector) files(name, dir string) []bundle.File {
	var pieces []bundle.File
	for _, base := range g.names(dir) {
		if info, err := g.tree.Lstat(path.Join(dir, base)); err == nil && info.Type != hostfs.Directory {
			pieces = append(pieces, g.file(path.Join(name, base), path.Join(dir, base))...)
		}
	}
	return pieces
}

func (g collector) names(dir string) []string {
	names, err := g.tree.ReadDir(dir)
	if err != nil {
		return nil // missing or not readable; the listings contain the error
	}
	return names
}

// listing returns the names and attributes of the files in directories, without
// contents.
func (g collector) listing(name string, dirs ...string) []bundle.File {
	return []bundle.File{{Name: name, Source: "names in " + strings.Join(dirs, ", "), Get: func(context.Context) (bundle.Content, error) {
		var out strings.Builder
		for _, dir := range dirs {
			names, err := g.tree.ReadDir(dir)
			fmt.Fprintf(&out, "%s:\n", dir)
			if err != nil {
				fmt.Fprintf(&out, "  %v\n", err)
			}
			for _, base := range names {
				info, err := g.tree.Lstat(path.Join(dir, base))
				fmt.Fprintf(&out, "  %-9s %04o %d:%d %9d %s\n", info.Type, info.Mode, info.UID, info.GID, info.Size, base)
				if err != nil {
					fmt.Fprintf(&out, "  %v\n", err)
				}
			}
		}
		return bundle.Content{Bytes: []byte(out.String())}, nil
	}}}
}

// certificates returns the decoded certificates of a directory. Private keys in the
// same files are not decoded.
func (g collector) certificates(name, dir string) []bundle.File {
	return []bundle.File{{Name: name, Source: "certificates in " +
		dir, Get: func(context.Context) (bundle.Content, error) {
		names, err := g.tree.ReadDir(dir)
		if err != nil {
			return bundle.Content{}, err
		}
		found := map[string][]identity.Certificate{}
		for _, base := range names {
			content, err := g.read(path.Join(dir, base))
			if err != nil {
				continue
			}
			if chain, err := identity.ParseCertificates(content); err == nil {
				found[path.Join(dir, base)] = chain
			}
		}
		content, err := json.MarshalIndent(found, "", "  ")
		return bundle.Content{Bytes: append(content, '\n')}, err
	}}}
}
