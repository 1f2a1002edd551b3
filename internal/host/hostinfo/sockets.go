// SPDX-License-Identifier: Apache-2.0

package hostinfo

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Socket is a listening TCP socket, or a bound UDP socket without a peer.
type Socket struct {
	Network string // tcp or udp
	Address netip.AddrPort
	Process string // name of the process; "" for a socket of the kernel, and without root for those of other users
	Service string // systemd service of the process; "" if there is none
	Pod     bool   // the process belongs to a pod

	inode string
}

// Sockets returns the sockets of this network namespace for which want returns true. It reads
// proc(5), and unlike binding the ports, it disturbs no other process.
func Sockets(want func(network string, port int) bool) ([]Socket, error) {
	var sockets []Socket
	for _, table := range []struct{ file, network, state string }{
		{"tcp", "tcp", "0A"}, {"tcp6", "tcp", "0A"}, // TCP_LISTEN
		{"udp", "udp", "07"}, {"udp6", "udp", "07"}, // TCP_CLOSE
	} {
		content, err := os.ReadFile("/proc/net/" + table.file)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a kernel without IPv6
		}
		if err != nil {
			return nil, fmt.Errorf("reading the open ports: %w", err)
		}
		for line := range strings.Lines(string(content)) {
			socket, ok := parseSocket(line, table.state)
			if ok && want(table.network, int(socket.Address.Port())) {
				socket.Network = table.network
				sockets = append(sockets, socket)
			}
		}
	}
	return sockets, findOwners(sockets)
}

// parseSocket parses a line of /proc/net/tcp, if the socket has the given state.
func parseSocket(line, state string) (Socket, bool) {
	fields := strings.Fields(line)
	if len(fields) < 10 || fields[3] != state {
		return Socket{}, false
	}
	host, port, _ := strings.Cut(fields[1], ":")
	number, err := strconv.ParseUint(port, 16, 16)
	if err != nil {
		return Socket{}, false
	}
	raw, err := hex.DecodeString(host)
	if err != nil {
		return Socket{}, false
	}
	for word := range slices.Chunk(raw, 4) {
		slices.Reverse(word) // the kernel prints words in the host's byte order: little endian
	}
	address, ok := netip.AddrFromSlice(raw)
	return Socket{Address: netip.AddrPortFrom(address.Unmap(), uint16(number)), inode: fields[9]}, ok
}

// findOwners sets the process of each socket. A process that exits meanwhile, or that
// this process must not inspect, is skipped.
func findOwners(sockets []Socket) error {
	if len(sockets) == 0 {
		return nil
	}
	processes, err := filepath.Glob("/proc/[1-9]*")
	if err != nil {
		return fmt.Errorf("listing processes: %w", err)
	}
	for _, process := range processes {
		descriptors, err := os.ReadDir(process + "/fd")
		if err != nil {
			continue
		}
		for _, descriptor := range descriptors {
			link, err := os.Readlink(process + "/fd/" + descriptor.Name())
			inode, found := strings.CutPrefix(link, "socket:[")
			if err != nil || !found {
				continue
			}
			for i := range sockets {
				if sockets[i].inode == strings.TrimSuffix(inode, "]") {
					cgroup, _ := os.ReadFile(process + "/cgroup") // empty if the process has exited
					sockets[i].Process = firstLine(process + "/comm")
					sockets[i].Service, sockets[i].Pod = parseCgroup(string(cgroup))
				}
			}
		}
	}
	return nil
}

// parseCgroup returns the systemd service in /proc/PID/cgroup, and whether the process
// belongs to a pod. With cgroup v1, only some of the lines contain the service.
func parseCgroup(content string) (service string, pod bool) {
	for _, part := range strings.FieldsFunc(content, func(r rune) bool { return r == '/' || r == '\n' }) {
		if strings.HasSuffix(part, ".service") {
			service = part
		}
		pod = pod || strings.HasPrefix(part, "kubepods")
	}
	return service, pod
}
