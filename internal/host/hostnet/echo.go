// SPDX-License-Identifier: Apache-2.0

package hostnet

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	echoInterval = 10 * time.Millisecond
	// A later reply is as bad as none: it waited in a queue.
	echoTimeout = 150 * time.Millisecond
)

// Pinger sends ICMP echo requests to an address, a hundred per second, to measure
// how long it was unreachable.
type Pinger struct {
	conn     *net.IPConn
	target   netip.Addr
	types    icmpTypes
	links    []string // outgoing links; "" selects one by route
	id       uint16
	stop     chan struct{}
	finished sync.WaitGroup
	mu       sync.Mutex
	requests []request
}

type request struct {
	at       time.Time
	answered bool
}

// Outage is the result of a Pinger. An interruption lasts from the last request before a loss that got
// a reply to the next one. It does not contain the time in which a busy host sent no requests.
type Outage struct {
	LongestSeconds    float64 `json:"longestSeconds" doc:"longest interruption in seconds"`
	UnmeasuredSeconds float64 `json:"unmeasuredSeconds,omitempty" doc:"time in which the host was too busy to send echo requests, in seconds"`
	Sent              int     `json:"sent" doc:"number of echo requests to the gateway, one every 10 ms"`
	Received          int     `json:"received" doc:"number of echo replies"`
}

// String returns the interruption, and how long it was not measured if that is a tenth of a second or more.
func (o Outage) String() string {
	text := fmt.Sprintf("network interruption %.2f s", o.LongestSeconds)
	if o.UnmeasuredSeconds >= 0.1 {
		text += fmt.Sprintf(", not measured for %.1f s (the host was busy)", o.UnmeasuredSeconds)
	}
	return text
}

// icmpTypes are the ICMP message types of a family.
type icmpTypes struct{ request, reply byte }

// StartPinger starts to send requests from an address of this host or, with the
// zero address, from any. A link-local target gets requests over each of the
// existing links, because the host's address can change the link during the
// measurement. It requires permission to open a raw socket.
func StartPinger(ctx context.Context, target, from netip.Addr, links ...string) (*Pinger, error) {
	network, address, types := "ip4:icmp", "0.0.0.0", icmpTypes{8, 0}
	if target.Is6() {
		network, address, types = "ip6:ipv6-icmp", "::", icmpTypes{128, 129}
	}
	if from.IsValid() {
		address = from.String()
	}
	config := net.ListenConfig{Control: stampPackets}
	conn, err := config.ListenPacket(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("opening a socket for ICMP: %w", err)
	}
	p := &Pinger{
		conn:   conn.(*net.IPConn), //nolint:forcetypeassert // of these networks
		target: target,
		types:  types,
		links:  []string{""},
		id:     uint16(os.Getpid()), //nolint:gosec // only distinguishes requests of this process
		stop:   make(chan struct{}),
	}
	if target.Is6() && target.IsLinkLocalUnicast() {
		p.links = links
	}
	p.finished.Go(p.send)
	p.finished.Go(p.receive)
	return p, nil
}

// Stop ends the measurement and returns the result. It blocks for up to 150 ms.
func (p *Pinger) Stop() Outage {
	time.Sleep(echoTimeout) // for outstanding replies
	close(p.stop)
	p.conn.Close()
	p.finished.Wait()
	return outageOf(p.requests, time.Now())
}

// SinceLastReply returns the time since the last request that got a reply. It returns
// false for a target that has never replied: many gateways ignore echo
// requests.
func (p *Pinger) SinceLastReply() (time.Duration, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.requests) - 1; i >= 0; i-- {
		if p.requests[i].answered {
			return time.Since(p.requests[i].at), true
		}
	}
	return 0, false
}

// outageOf evaluates the requests. It ignores the last ones, which can still
// get a reply.
func outageOf(requests []request, now time.Time) Outage {
	var outage Outage
	silence := time.Duration(0) // since the last request that got a reply
	lost := false
	for i, r := range requests {
		if now.Sub(r.at) < echoTimeout && !r.answered {
			break
		}
		if i > 0 {
			pause := r.at.Sub(requests[i-1].at)
			silence += min(pause, echoTimeout)
			outage.UnmeasuredSeconds += max(0, pause-echoTimeout).Seconds()
		}
		outage.Sent++
		if !r.answered {
			lost = true
			continue
		}
		if lost && outage.Received > 0 {
			outage.LongestSeconds = max(outage.LongestSeconds, silence.Seconds())
		}
		outage.Received++
		silence, lost = 0, false
	}
	return outage
}

func (p *Pinger) send() {
	ticker := time.NewTicker(echoInterval)
	defer ticker.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-ticker.C:
		}
		p.mu.Lock()
		sequence := len(p.requests)
		p.requests = append(p.requests, request{at: time.Now()})
		p.mu.Unlock()
		message := p.types.message(p.id, uint32(sequence)) //nolint:gosec // a hundred a second
		for _, link := range p.links {
			_, _ = p.conn.WriteTo(message, &net.IPAddr{IP: p.target.AsSlice(), Zone: zone(link)}) // errors count as loss
		}
		p.mu.Lock()
		p.requests[sequence].at = time.Now() // a busy host may have sent it later
		p.mu.Unlock()
	}
}

// zone returns a link's index, which package net does not need to look up. It
// would look up a name again for each packet as long as the link does not
// exist.
func zone(link string) string {
	if link == "" {
		return ""
	}
	content, err := os.ReadFile(path.Join("/sys/class/net", path.Base(link), "ifindex"))
	if err != nil {
		return "" // the link does not exist now
	}
	return strings.TrimSpace(string(content))
}

func (p *Pinger) receive() {
	buffer, control := make([]byte, 256), make([]byte, 128)
	for {
		n, controlled, _, _, err := p.conn.ReadMsgIP(buffer, control)
		if err != nil {
			return
		}
		message := p.types.withoutHeader(buffer[:n])
		if len(message) < 12 || message[0] != p.types.reply || binary.BigEndian.Uint16(message[4:]) != p.id {
			continue
		}
		received := packetTime(control[:controlled])
		sequence := int(binary.BigEndian.Uint32(message[8:]))
		p.mu.Lock()
		if sequence < len(p.requests) && received.Sub(p.requests[sequence].at) < echoTimeout {
			p.requests[sequence].answered = true
		}
		p.mu.Unlock()
	}
}

// stampPackets has the kernel record when packets arrive. A busy host reads them later.
func stampPackets(_, _ string, socket syscall.RawConn) error {
	var err error
	controlErr := socket.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
	})
	return errors.Join(controlErr, err)
}

// packetTime returns when the kernel received a packet, by its control messages, or the current time if they do not
// contain it.
func packetTime(control []byte) time.Time {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return time.Now()
	}
	for _, m := range messages {
		if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SO_TIMESTAMPNS && len(m.Data) >= 16 {
			seconds, nanoseconds := binary.NativeEndian.Uint64(m.Data), binary.NativeEndian.Uint64(m.Data[8:])
			return time.Unix(int64(seconds), int64(nanoseconds)) //nolint:gosec // of a clock
		}
	}
	return time.Now()
}

// withoutHeader returns the ICMP message of a received packet, which has an IP header only for IPv4.
func (k icmpTypes) withoutHeader(packet []byte) []byte {
	if k.request != 8 || len(packet) == 0 {
		return packet
	}
	return packet[min(int(packet[0]&0xf)*4, len(packet)):]
}

// message returns an ICMP echo request with a 32-bit sequence number as data,
// because the number in the header would wrap around. The kernel sets the
// checksum for ICMPv6.
func (k icmpTypes) message(id uint16, sequence uint32) []byte {
	message := []byte{k.request, 0, 0, 0, byte(id >> 8), byte(id), 0, 1, 0, 0, 0, 0}
	binary.BigEndian.PutUint32(message[8:], sequence)
	var sum uint32
	for i := 0; i < len(message); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(message[i:]))
	}
	sum = sum>>16 + sum&0xffff
	sum += sum >> 16
	binary.BigEndian.PutUint16(message[2:], ^uint16(sum)) //nolint:gosec // the checksum is its low half
	return message
}
