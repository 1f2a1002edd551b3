// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/test/netns"
)

const (
	probeEvery = 10 * time.Millisecond
	// A later response counts as lost: it has waited in a queue.
	responseTimeout = 150 * time.Millisecond
	// unreachableAfter is the time after which a target without a response is unreachable.
	unreachableAfter = 2 * time.Minute
)

// Probe sends a hundred ICMP or ICMPv6 echo requests per second from the peer to a machine.
type Probe struct {
	conn     net.PacketConn
	target   netip.Addr
	id       uint16
	stop     chan struct{}
	finished sync.WaitGroup
	mu       sync.Mutex
	sent     []probeRequest
	sentOne  *sync.Cond // of mu
}

type probeRequest struct {
	at       time.Time
	answered bool
}

// Interruptions are the interruptions that a Probe has measured.
type Interruptions struct {
	Sent, Lost int
	// Count is the number of interruptions. Consecutive lost responses count as one.
	Count int
	// Longest is the longest time between two answered requests.
	Longest time.Duration
	// Unanswered reports whether the last requests were not answered.
	Unanswered bool
}

// Answered returns the number of answered requests.
func (g Interruptions) Answered() int { return g.Sent - g.Lost }

func (g Interruptions) String() string {
	s := fmt.Sprintf("%v (%d of %d lost, %d interruptions)", g.Longest.Round(time.Millisecond), g.Lost, g.Sent, g.Count)
	if g.Unanswered {
		s += ", silent at the end"
	}
	return s
}

// Probe starts a probe of target.
func (l *Lab) Probe(target netip.Addr) (*Probe, error) {
	network := "ip4:icmp"
	if target.Is6() {
		network = "ip6:ipv6-icmp"
	}
	p := &Probe{
		target: target,
		stop:   make(chan struct{}),
		id:     uint16(os.Getpid()), //nolint:gosec // distinguishes this probe's requests
	}
	err := netns.Do(l.peer.path, func() (err error) {
		p.conn, err = net.ListenPacket(network, "")
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("opening a socket for echos: %w", err)
	}
	p.sentOne = sync.NewCond(&p.mu)
	p.finished.Add(2)
	go p.send()
	go p.receive()
	return p, nil
}

// Connect opens a new TCP connection from the peer to a port, and closes it.
func (l *Lab) Connect(ctx context.Context, target netip.Addr, port uint16) error {
	return netns.Do(l.peer.path, func() error {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", netip.AddrPortFrom(target, port).String())
		if err != nil {
			return err
		}
		return conn.Close()
	})
}

// AwaitRequests blocks until count more requests have been sent.
func (p *Probe) AwaitRequests(count int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for end := len(p.sent) + count; len(p.sent) < end; {
		p.sentOne.Wait()
	}
}

// awaitResponse blocks until a request that is sent from now on is answered, and returns the number of requests up to
// it. It returns that of all requests if none was answered within unreachableAfter.
func (p *Probe) awaitResponse() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	begin, end := len(p.sent), time.Now().Add(unreachableAfter)
	for time.Now().Before(end) {
		for i, r := range p.sent[begin:] {
			if r.answered {
				return begin + i + 1
			}
		}
		p.sentOne.Wait()
	}
	return len(p.sent)
}

// Stop stops the probe and returns the result. It ends with an answered request, unless the target stays silent.
func (p *Probe) Stop() Interruptions {
	count := p.awaitResponse()
	time.Sleep(responseTimeout) // for outstanding responses
	close(p.stop)
	p.conn.Close()
	p.finished.Wait()
	return summarize(p.sent[:count], time.Now())
}

// summarize summarizes the requests. It ignores requests at the end that can still be answered.
func summarize(sent []probeRequest, now time.Time) Interruptions {
	var gaps Interruptions
	var last time.Time
	for _, r := range sent {
		if !r.answered && now.Sub(r.at) < responseTimeout {
			break
		}
		gaps.Sent++
		if !r.answered {
			gaps.Lost++
			if !gaps.Unanswered {
				gaps.Count++
			}
			gaps.Unanswered = true
			continue
		}
		if gaps.Unanswered && !last.IsZero() {
			gaps.Longest = max(gaps.Longest, r.at.Sub(last))
		}
		last, gaps.Unanswered = r.at, false
	}
	return gaps
}

func (p *Probe) send() {
	defer p.finished.Done()
	ticker := time.NewTicker(probeEvery)
	defer ticker.Stop()
	target := &net.IPAddr{IP: p.target.AsSlice()}
	for {
		select {
		case <-p.stop:
			return
		case <-ticker.C:
		}
		p.mu.Lock()
		sequence := len(p.sent)
		p.sent = append(p.sent, probeRequest{at: time.Now()})
		p.mu.Unlock()
		p.sentOne.Broadcast()
		_, _ = p.conn.WriteTo(echo(p.target.Is6(), p.id, uint32(sequence)), target) //nolint:gosec // a failure counts as lost
	}
}

func (p *Probe) receive() {
	defer p.finished.Done()
	answer := byte(0)
	if p.target.Is6() {
		answer = 129
	}
	buffer := make([]byte, 256)
	for {
		n, _, err := p.conn.ReadFrom(buffer)
		if err != nil {
			return
		}
		if n < 12 || buffer[0] != answer || binary.BigEndian.Uint16(buffer[4:]) != p.id {
			continue
		}
		sequence := int(binary.BigEndian.Uint32(buffer[8:]))
		p.mu.Lock()
		if sequence < len(p.sent) && time.Since(p.sent[sequence].at) < responseTimeout {
			p.sent[sequence].answered = true
		}
		p.mu.Unlock()
	}
}

// echo returns an echo request with a 32-bit sequence number as data, because the 16-bit number
// in the header would wrap around. The kernel computes the checksum of ICMPv6.
func echo(six bool, id uint16, sequence uint32) []byte {
	message := []byte{8, 0, 0, 0, byte(id >> 8), byte(id), 0, 1, 0, 0, 0, 0}
	binary.BigEndian.PutUint32(message[8:], sequence)
	if six {
		message[0] = 128
		return message
	}
	var sum uint32
	for i := 0; i < len(message); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(message[i:]))
	}
	sum = sum>>16 + sum&0xffff
	sum += sum >> 16
	binary.BigEndian.PutUint16(message[2:], ^uint16(sum)) //nolint:gosec // the checksum is its low half
	return message
}
