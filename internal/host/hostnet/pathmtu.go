// SPDX-License-Identifier: Apache-2.0

package hostnet

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// smallPacket is a size in bytes that each path carries.
	smallPacket = 128
	// pathRequests is the number of echo requests of one size. Paths with packet loss carry one of them.
	pathRequests = 3
	// pathInterval is the time between them.
	pathInterval = 100 * time.Millisecond
	// pathTimeout is the time for a reply to the last of them. Satellite links need 700 ms. The search for the largest
	// size waits for ten times as long as a reply has needed, and at least for minPathTimeout.
	pathTimeout    = 1200 * time.Millisecond
	minPathTimeout = 250 * time.Millisecond
)

// PathMTU is the result of MeasurePathMTU.
type PathMTU struct {
	Responds bool // the target replies to small echo requests
	Bytes    int  // size of the largest packet with a reply, at most the requested size
}

// MeasurePathMTU measures with ICMP echo requests how large packets to an address can be, up to size bytes with the IP
// header. The packets must not be fragmented, and a path MTU that the kernel has learned is ignored: routers that drop
// large packets without a message are found, too. Large packets count as lost only if small ones get replies before
// and after them. It blocks for up to 20 seconds, and requires permission to open a raw socket.
func MeasurePathMTU(ctx context.Context, target netip.Addr, size int) (PathMTU, error) {
	p, err := openPathProbe(ctx, target)
	if err != nil {
		return PathMTU{}, err
	}
	defer p.conn.Close()
	stop := context.AfterFunc(ctx, func() { p.conn.Close() })
	defer stop()
	result, err := p.measure(size)
	if err != nil {
		return PathMTU{}, fmt.Errorf("measuring the MTU of the path to %s: %w", target, errors.Join(ctx.Err(), err))
	}
	return result, nil
}

// pathProbe sends echo requests of different sizes to an address.
type pathProbe struct {
	conn     *net.IPConn
	target   netip.Addr
	types    icmpTypes
	header   int // of IP, in bytes
	id       uint16
	sequence uint32
	timeout  time.Duration // for a reply to the last request of a size
}

func openPathProbe(ctx context.Context, target netip.Addr) (*pathProbe, error) {
	p := &pathProbe{
		target: target, types: icmpTypes{8, 0}, header: 20, timeout: pathTimeout,
		id: uint16(rand.N(1 << 16)), //nolint:gosec // only distinguishes requests of this probe
	}
	network, address := "ip4:icmp", "0.0.0.0"
	if target.Is6() {
		network, address, p.types, p.header = "ip6:ipv6-icmp", "::", icmpTypes{128, 129}, 40
	}
	config := net.ListenConfig{Control: func(_, _ string, socket syscall.RawConn) error {
		var err error
		controlErr := socket.Control(func(fd uintptr) { err = probePathMTU(int(fd), target.Is6()) })
		return errors.Join(controlErr, err)
	}}
	conn, err := config.ListenPacket(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("opening a socket for ICMP: %w", err)
	}
	p.conn = conn.(*net.IPConn) //nolint:forcetypeassert // of these networks
	return p, nil
}

// probePathMTU prevents the fragmentation of the packets of a socket. Only the MTU of the link limits their size.
func probePathMTU(fd int, isIPv6 bool) error {
	if isIPv6 {
		return unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_PROBE)
	}
	return unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_PROBE)
}

func (p *pathProbe) measure(size int) (PathMTU, error) {
	var replyTime time.Duration
	for range 2 {
		begun := time.Now()
		if carried, err := p.carries(smallPacket); err != nil || !carried {
			return PathMTU{}, err
		}
		replyTime = max(replyTime, time.Since(begun))
		if carried, err := p.carries(size); err != nil || carried {
			return PathMTU{Responds: true, Bytes: size}, err
		}
	}
	p.timeout = min(max(10*replyTime, minPathTimeout), pathTimeout)
	carried, lost := smallPacket, size
	for lost-carried > 1 {
		middle := (carried + lost) / 2
		replied, err := p.carries(middle)
		switch {
		case err != nil:
			return PathMTU{}, err
		case replied:
			carried = middle
		default:
			lost = middle
		}
	}
	// Also small packets can have been lost meanwhile.
	if replied, err := p.carries(smallPacket); err != nil || !replied {
		return PathMTU{}, err
	}
	return PathMTU{Responds: true, Bytes: carried}, nil
}

// carries reports whether there is a reply to an echo request in a packet of a size.
func (p *pathProbe) carries(size int) (bool, error) {
	first := p.sequence
	for i := range pathRequests {
		message := p.types.message(p.id, p.sequence)
		p.sequence++
		message = append(message, make([]byte, max(0, size-p.header-len(message)))...) // zeros keep the checksum
		if _, err := p.conn.WriteTo(message, &net.IPAddr{IP: p.target.AsSlice()}); err != nil {
			return false, ignoreUnreachable(err)
		}
		timeout := pathInterval
		if i == pathRequests-1 {
			timeout = p.timeout
		}
		if replied, err := p.hasReply(first, time.Now().Add(timeout)); err != nil || replied {
			return replied, err
		}
	}
	return false, nil
}

// ignoreUnreachable returns nil for errors that mean that a packet is too large for the link, or that there is no way
// to the target now.
func ignoreUnreachable(err error) error {
	for _, ignored := range []error{unix.EMSGSIZE, unix.ENETUNREACH, unix.EHOSTUNREACH, unix.EPERM, unix.EACCES} {
		if errors.Is(err, ignored) {
			return nil
		}
	}
	return err
}

// hasReply reports whether a reply to a request from first on is received before the deadline.
func (p *pathProbe) hasReply(first uint32, deadline time.Time) (bool, error) {
	if err := p.conn.SetReadDeadline(deadline); err != nil {
		return false, err
	}
	buffer := make([]byte, 256)
	for {
		n, _, _, from, err := p.conn.ReadMsgIP(buffer, nil)
		if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		message := p.types.withoutHeader(buffer[:n])
		if len(message) < 12 || message[0] != p.types.reply || binary.BigEndian.Uint16(message[4:]) != p.id {
			continue
		}
		source, _ := netip.AddrFromSlice(from.IP)
		if source.Unmap() == p.target && binary.BigEndian.Uint32(message[8:]) >= first {
			return true, nil
		}
	}
}

// KnownPathMTU returns the MTU of the path to a host and port, as far as the kernel has learned it: from a message of a
// router about an earlier packet, from the route, or that of the link. It sends no packet, except to resolve the name.
func KnownPathMTU(ctx context.Context, address string) (int, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "udp", address)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	socket, err := conn.(*net.UDPConn).SyscallConn() //nolint:forcetypeassert // of this network
	if err != nil {
		return 0, err
	}
	level, option := unix.IPPROTO_IP, unix.IP_MTU
	if remote, err := netip.ParseAddrPort(conn.RemoteAddr().String()); err == nil && remote.Addr().Is6() {
		level, option = unix.IPPROTO_IPV6, unix.IPV6_MTU
	}
	mtu := 0
	controlErr := socket.Control(func(fd uintptr) { mtu, err = unix.GetsockoptInt(int(fd), level, option) })
	if err := errors.Join(controlErr, err); err != nil {
		return 0, fmt.Errorf("reading the MTU of the path to %s: %w", address, err)
	}
	return mtu, nil
}
