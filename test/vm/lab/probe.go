package lab

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"
)

const (
	probeEvery = 10 * time.Millisecond
	// A later answer is as good as none: it waited in a queue.
	probeLimit = 150 * time.Millisecond
)

// Probe asks a machine from outside, from the peer, for an ICMP or ICMPv6 echo
// a hundred times a second.
type Probe struct {
	conn     net.PacketConn
	target   netip.Addr
	id       uint16
	stop     chan struct{}
	finished sync.WaitGroup
	mu       sync.Mutex
	sent     []probed
}

type probed struct {
	at       time.Time
	answered bool
}

// Gaps is what a Probe has seen.
type Gaps struct {
	Sent, Lost int
	// Gaps is how often answers were lost: one or more in a row count once.
	Gaps int
	// Longest is the time between the two answered requests around a loss.
	Longest time.Duration
	// Silent tells that the last requests got no answer: a gap without an end.
	Silent bool
}

// Answered is how many requests were.
func (g Gaps) Answered() int { return g.Sent - g.Lost }

func (g Gaps) String() string {
	s := fmt.Sprintf("%v (%d of %d lost, %d gaps)", g.Longest.Round(time.Millisecond), g.Lost, g.Sent, g.Gaps)
	if g.Silent {
		s += ", silent at the end"
	}
	return s
}

// Probe begins to ask.
func (l *Lab) Probe(target netip.Addr) (*Probe, error) {
	network := "ip4:icmp"
	if target.Is6() {
		network = "ip6:ipv6-icmp"
	}
	p := &Probe{target: target, stop: make(chan struct{}), id: uint16(os.Getpid())} //nolint:gosec // tells ours from others
	err := l.peer.do(func() (err error) {
		p.conn, err = net.ListenPacket(network, "")
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("opening a socket for echos: %w", err)
	}
	p.finished.Add(2)
	go p.ask()
	go p.hear()
	return p, nil
}

// Stop ends the asking and tells what was seen.
func (p *Probe) Stop() Gaps {
	time.Sleep(probeLimit) // for the answers that are still due
	close(p.stop)
	p.conn.Close()
	p.finished.Wait()
	return gapsOf(p.sent, time.Now())
}

// gapsOf sums up; requests at the end that can still be answered do not count.
func gapsOf(sent []probed, now time.Time) Gaps {
	var gaps Gaps
	var last time.Time
	for _, r := range sent {
		if !r.answered && now.Sub(r.at) < probeLimit {
			break
		}
		gaps.Sent++
		if !r.answered {
			gaps.Lost++
			if !gaps.Silent {
				gaps.Gaps++
			}
			gaps.Silent = true
			continue
		}
		if gaps.Silent && !last.IsZero() {
			gaps.Longest = max(gaps.Longest, r.at.Sub(last))
		}
		last, gaps.Silent = r.at, false
	}
	return gaps
}

func (p *Probe) ask() {
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
		p.sent = append(p.sent, probed{at: time.Now()})
		p.mu.Unlock()
		_, _ = p.conn.WriteTo(echo(p.target.Is6(), p.id, uint32(sequence)), target) //nolint:gosec // that it fails is what is measured
	}
}

func (p *Probe) hear() {
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
		if sequence < len(p.sent) && time.Since(p.sent[sequence].at) < probeLimit {
			p.sent[sequence].answered = true
		}
		p.mu.Unlock()
	}
}

// echo is a request that carries a sequence number of 32 bits as data; the one
// in the header would wrap around. The kernel sums ICMPv6 up itself.
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
