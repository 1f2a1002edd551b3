// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"text/tabwriter"
	"time"

	"k8s.io/client-go/util/cert"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
)

const (
	// payloadFile is the size of the file in the payload, which then has about 450 kB, as that of a real NodePool.
	payloadFile  = 337_500
	serverName   = "ignition.example.com"
	fetchTimeout = 10 * time.Minute
)

// rates are the bandwidths of the server in Mbit/s. At higher ones, the processor of this host is the limit.
var rates = []int{400, 200, 100, 50}

// measureFetches measures how long agents need that fetch the payload from one server at the same time.
func measureFetches(ctx context.Context, agents int) ([]fetches, error) {
	if agents == 0 {
		return nil, nil
	}
	var all []fetches
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "\nfetch by %d agents\tone, s\tlink, s\tprocessors, s\tall, s\tratio\tretries\tfailed\t\n", agents)
	for _, rate := range rates {
		r, err := measureFetch(ctx, agents, rate)
		if err != nil {
			return nil, fmt.Errorf("fetching at %d Mbit/s: %w", rate, err)
		}
		fmt.Fprintf(table, "%d Mbit/s\t%.3f\t%.1f\t%.1f\t%.1f\t%.2f\t%d\t%d\t\n", rate, r.single.Seconds(),
			r.link.Seconds(), r.processors.Seconds(), r.all.Seconds(), r.ratio(), r.retries, r.failed)
		all = append(all, r)
	}
	return all, table.Flush()
}

// fetches has the figures of the agents that fetch at the same time.
type fetches struct {
	single time.Duration // of one agent alone
	// link is the time in which the server can send all payloads, processors that in which this host can encrypt and parse
	// them. The ideal time is the longer one.
	link, processors time.Duration
	all              time.Duration // until the last agent has the payload
	retries          int64
	failed           int64 // agents that gave up
}

// ratio returns the ratio to the ideal time.
func (r fetches) ratio() float64 { return r.all.Seconds() / max(r.link, r.processors).Seconds() }

func measureFetch(ctx context.Context, agents, megabits int) (r fetches, err error) {
	server, err := startServer(megabits)
	if err != nil {
		return r, err
	}
	defer server.http.Close()
	userData, err := ignition.NewUserData(ignition.Values{
		Endpoint: serverName, Token: []byte(fetchToken), CA: server.ca, NodePool: "clusters/workers", Hash: newConfig,
	})
	if err != nil {
		return r, err
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	fetcher := ignition.Fetcher{ConnectTo: server.address}
	var alone []time.Duration
	used := processorTime()
	for range 9 {
		begun := time.Now()
		if _, err := fetcher.Fetch(ctx, userData); err != nil {
			return r, err
		}
		alone = append(alone, time.Since(begun))
	}
	processor := processorTime() - used
	slices.Sort(alone)
	r.single = alone[len(alone)/2]
	r.link = time.Duration(float64(agents*len(server.payload)*8) / float64(megabits) * float64(time.Microsecond))
	r.processors = processor / time.Duration(len(alone)*runtime.NumCPU()) * time.Duration(agents)
	before := server.requests.Load()
	var failed atomic.Int64
	var fetching sync.WaitGroup
	begun := time.Now()
	for range agents {
		fetching.Go(func() {
			if _, err := fetcher.Fetch(ctx, userData); err != nil {
				failed.Add(1)
			}
		})
	}
	fetching.Wait()
	r.all, r.failed, r.retries = time.Since(begun), failed.Load(), server.requests.Load()-before-int64(agents)
	return r, ctx.Err()
}

// processorTime returns the processor time that this process has used.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

const fetchToken = "00000000-0000-4000-8000-000000000000"

// ignitionServer has the timeouts and the protocol of HyperShift's ignition server.
type ignitionServer struct {
	http     *http.Server
	address  string
	ca       []byte
	payload  []byte
	requests atomic.Int64
}

func startServer(megabits int) (*ignitionServer, error) {
	certificates, key, err := cert.GenerateSelfSignedCertKey(serverName, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("creating the server's certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(certificates, key)
	if err != nil {
		return nil, fmt.Errorf("reading the server's certificate: %w", err)
	}
	_, ca := pem.Decode(certificates) // the certificate comes first
	s := &ignitionServer{ca: ca}
	content := base64.StdEncoding.EncodeToString(make([]byte, payloadFile))
	s.payload, err = json.Marshal(map[string]any{
		"ignition": map[string]any{"version": "3.2.0"},
		"storage": map[string]any{"files": []any{map[string]any{
			"path": "/etc/large", "mode": 0o644, "contents": map[string]any{"source": "data:;base64," + content},
		}}},
	})
	if err != nil {
		return nil, fmt.Errorf("encoding the payload: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for agents: %w", err)
	}
	s.address = listener.Addr().String()
	s.http = &http.Server{
		Handler:     s,
		ReadTimeout: 5 * time.Second, WriteTimeout: 10 * time.Second, // ignition-server/cmd/start.go
		TLSConfig:    &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){}, // no HTTP/2
		ErrorLog:     log.New(io.Discard, "", 0),
	}
	shared := &limitedLink{bytesPerSecond: float64(megabits) * 1e6 / 8}
	go func() { _ = s.http.ServeTLS(limitedListener{listener, shared}, "", "") }()
	return s, nil
}

// ServeHTTP sends the payload.
func (s *ignitionServer) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	s.requests.Add(1)
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	if _, err := w.Write(s.payload); err != nil {
		panic(http.ErrAbortHandler) // the write timeout
	}
}

// limitedLink is a link with a bandwidth that its connections share fairly: each waits for its turn to send a TLS
// record.
type limitedLink struct {
	bytesPerSecond float64

	mu   sync.Mutex
	free time.Time // when all records before are sent
}

// reserve returns when a record is sent, false if that is after a deadline.
func (l *limitedLink) reserve(size int, deadline time.Time) (time.Time, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	begin := l.free
	if now := time.Now(); begin.Before(now) {
		begin = now
	}
	end := begin.Add(time.Duration(float64(size) / l.bytesPerSecond * float64(time.Second)))
	if !deadline.IsZero() && end.After(deadline) {
		return deadline, false
	}
	l.free = end
	return end, true
}

type limitedListener struct {
	net.Listener
	link *limitedLink
}

// Accept returns a connection on the link.
func (l limitedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &limitedConn{Conn: conn, link: l.link}, nil
}

// limitedConn sends at the rate of its link. Its deadlines apply to the time of waiting, too.
type limitedConn struct {
	net.Conn
	link     *limitedLink
	mu       sync.Mutex
	deadline time.Time
}

// SetDeadline sets the deadlines.
func (c *limitedConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetWriteDeadline sets the deadline of Write.
func (c *limitedConn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	return c.Conn.SetWriteDeadline(t)
}

// Write sends a record when it is its turn.
func (c *limitedConn) Write(record []byte) (int, error) {
	c.mu.Lock()
	deadline := c.deadline
	c.mu.Unlock()
	at, isSent := c.link.reserve(len(record), deadline)
	time.Sleep(time.Until(at))
	if !isSent {
		return 0, os.ErrDeadlineExceeded
	}
	return c.Conn.Write(record)
}
