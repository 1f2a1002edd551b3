// SPDX-License-Identifier: Apache-2.0

package hostnet

import (
	"encoding/binary"
	"net"
	"net/netip"
	"os/exec"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// Receivers drop a request with a wrong checksum: the one's complement sum of a
// message including its checksum is all ones (RFC 792).
func TestEchoRequestChecksum(t *testing.T) {
	for _, sequence := range []uint32{0, 1, 0xffff, 0x10000, 0xfffefffd, 0xffffffff} {
		message := icmpTypes{8, 0}.message(0xbeef, sequence)
		var sum uint32
		for i := 0; i < len(message); i += 2 {
			sum += uint32(binary.BigEndian.Uint16(message[i:]))
		}
		sum = sum>>16 + sum&0xffff
		if sum != 0xffff {
			t.Errorf("sequence %#x: the words add up to %#x", sequence, sum)
		}
		if got := binary.BigEndian.Uint32(message[8:]); got != sequence {
			t.Errorf("it carries %#x, want %#x", got, sequence)
		}
	}
}

func TestOutage(t *testing.T) {
	const yes, no = true, false
	tests := map[string]struct {
		answered []bool
		want     Outage
	}{
		"no reply":        {[]bool{no, no, no}, Outage{Sent: 3}},
		"all answered":    {[]bool{yes, yes, yes}, Outage{Sent: 3, Received: 3}},
		"two lost":        {[]bool{yes, no, no, yes, yes}, Outage{Sent: 5, Received: 3, LongestSeconds: 0.03}},
		"the longest":     {[]bool{yes, no, yes, no, no, yes}, Outage{Sent: 6, Received: 3, LongestSeconds: 0.03}},
		"lost at first":   {[]bool{no, yes, yes}, Outage{Sent: 3, Received: 2}},
		"the last is due": {[]bool{yes, no}, Outage{Sent: 2, Received: 1}},
	}
	begin := time.Now().Add(-time.Hour)
	t.Run("a busy host", func(t *testing.T) {
		at := func(milliseconds int) time.Time { return begin.Add(time.Duration(milliseconds) * time.Millisecond) }
		got := outageOf([]request{{at(0), yes}, {at(10), no}, {at(2010), no}, {at(2020), yes}, {at(2500), yes}}, time.Now())
		want := Outage{Sent: 5, Received: 3, LongestSeconds: 0.17, UnmeasuredSeconds: 1.85 + 0.33}
		if got != want {
			t.Errorf("%#v, want %#v", got, want)
		}
		if want := "network interruption 0.17 s, not measured for 2.2 s (the host was busy)"; got.String() != want {
			t.Errorf("String() = %q, want %q", got, want)
		}
	})
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var requests []request
			for i, answered := range test.answered {
				requests = append(requests, request{begin.Add(time.Duration(i) * echoInterval), answered})
			}
			if got := outageOf(requests, time.Now()); got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
	// A request that was just sent can still get a reply.
	got := outageOf([]request{{begin, yes}, {time.Now(), no}}, time.Now())
	if want := (Outage{Sent: 1, Received: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestPingerCountsReplies(t *testing.T) {
	if !namespaced(t) {
		return
	}
	if output, err := exec.CommandContext(t.Context(), "ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	for _, target := range []string{"127.0.0.1", "::1"} {
		pinger, err := StartPinger(t.Context(), netip.MustParseAddr(target), netip.Addr{})
		if err != nil {
			t.Fatal(err)
		}
		waittest.Until(t, "waiting for five requests to "+target, func() (any, bool) {
			pinger.mu.Lock()
			defer pinger.mu.Unlock()
			return len(pinger.requests), len(pinger.requests) >= 5
		})
		outage := pinger.Stop()
		if _, replied := pinger.SinceLastReply(); !replied || outage.Received < 5 || outage.Received != outage.Sent {
			t.Errorf("%s: %+v, want replies to all requests", target, outage)
		}
	}
}

func TestPacketTime(t *testing.T) {
	server, err := (&net.ListenConfig{Control: stampPackets}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	before := time.Now()
	if _, err := server.WriteTo([]byte("packet"), server.LocalAddr()); err != nil {
		t.Fatal(err)
	}
	buffer, control := make([]byte, 16), make([]byte, 128)
	_, n, _, _, err := server.(*net.UDPConn).ReadMsgUDP(buffer, control)
	after := time.Now()
	if got := packetTime(control[:n]); err != nil || got.Before(before.Round(0)) || !got.Before(after.Round(0)) {
		t.Errorf("packetTime() = %v (%v), want a time between %v and %v", got, err, before, after)
	}
}
