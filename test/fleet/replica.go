// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/test/rights"
)

// replica is a process of the controller with the rights of the manifest in deploy.
type replica struct {
	command  *exec.Cmd
	proxy    *countingProxy
	metrics  string // URL
	log      string // path
	done     chan struct{}
	killed   bool
	requests int64   // when they were read last
	peak     float64 // MiB, when it was read last
}

// consumption is the resource use of all replicas since their start.
type consumption struct {
	traffic
	cpu  float64 // seconds
	peak float64 // MiB, of the largest process
}

func (f *fleet) startReplica(ctx context.Context, program string) error {
	proxy, err := newCountingProxy(f.plane.APIForward)
	if err != nil {
		return err
	}
	kubeconfig, err := rights.NewKubeconfig(ctx, f.admin, rights.Controller, f.plane.Kubeconfig, proxy.server())
	if err != nil {
		return err
	}
	base := filepath.Join(f.dir, fmt.Sprintf("controller-%d", len(f.replicas)))
	if err := os.WriteFile(base+".kubeconfig", kubeconfig, 0o600); err != nil {
		return fmt.Errorf("writing the controller's kubeconfig: %w", err)
	}
	metrics, err := freeAddress()
	if err != nil {
		return err
	}
	log, err := os.Create(base + ".log")
	if err != nil {
		return fmt.Errorf("creating the controller's log: %w", err)
	}
	defer log.Close()
	r := &replica{
		proxy: proxy, metrics: "http://" + metrics + "/metrics", log: log.Name(), done: make(chan struct{}),
		command: exec.CommandContext(ctx, program, "controller", "run", "--kubeconfig", base+".kubeconfig",
			"--metrics-bind-address", metrics, "--output", "json"),
	}
	r.command.Stderr = log
	if err := r.command.Start(); err != nil {
		return fmt.Errorf("starting a controller: %w", err)
	}
	go func() {
		_ = r.command.Wait() // its state has the result
		close(r.done)
	}()
	f.replicas = append(f.replicas, r)
	return nil
}

func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("finding a free port: %w", err)
	}
	return listener.Addr().String(), listener.Close()
}

func (r *replica) isRunning() bool {
	select {
	case <-r.done:
		return false
	default:
		return true
	}
}

// read returns the sum of the values of a metric, 0 if the process does not respond yet.
func (r *replica) read(metric string) float64 {
	client := &http.Client{Timeout: 5 * time.Second}
	response, err := client.Get(r.metrics)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	return sumMetric(response.Body, metric)
}

// sumMetric returns the sum of the values of a metric in the text format of Prometheus.
func sumMetric(text io.Reader, metric string) float64 {
	sum := 0.0
	for lines := bufio.NewScanner(text); lines.Scan(); {
		name, _, _ := strings.Cut(lines.Text(), "{")
		fields := strings.Fields(lines.Text())
		if name != metric || len(fields) == 0 {
			continue
		}
		value, err := strconv.ParseFloat(fields[len(fields)-1], 64)
		if err == nil {
			sum += value
		}
	}
	return sum
}

// leader waits until a replica holds the Lease, and returns that replica.
func (f *fleet) leader(ctx context.Context) (*replica, error) {
	for {
		for _, r := range f.replicas {
			if r.isRunning() && r.read("leader_election_master_status") > 0 {
				return r, nil
			}
		}
		if err := sleep(ctx, 200*time.Millisecond); err != nil {
			return nil, fmt.Errorf("waiting for a leader: %w", err)
		}
	}
}

// killLeader kills the replica that works, and starts another one, as a Deployment does.
func (f *fleet) killLeader(ctx context.Context, program string) error {
	leader, err := f.leader(ctx)
	if err != nil {
		return err
	}
	f.consumption() // reads the metrics of the leader the last time
	leader.killed = true
	if err := leader.command.Process.Kill(); err != nil {
		return fmt.Errorf("killing the leader: %w", err)
	}
	<-leader.done
	return f.startReplica(ctx, program)
}

// consumption returns what all replicas have used so far.
func (f *fleet) consumption() consumption {
	var sum consumption
	for _, r := range f.replicas {
		if requests := int64(r.read("rest_client_requests_total")); requests > 0 {
			r.requests = requests
		}
		cpu, peak := r.usage()
		sum.cpu, sum.peak = sum.cpu+cpu, max(sum.peak, peak)
		sum.traffic = sum.plus(traffic{r.requests, r.proxy.received.Load(), r.proxy.sent.Load()})
	}
	return sum
}

// usage returns the CPU time in seconds and the peak memory in MiB. That of a process that has ended is the last one
// that was read: the kernel adds the memory of this process, which has started it, to the accounting.
func (r *replica) usage() (cpu, peak float64) {
	if !r.isRunning() {
		state := r.command.ProcessState
		return (state.UserTime() + state.SystemTime()).Seconds(), r.peak
	}
	dir := filepath.Join("/proc", strconv.Itoa(r.command.Process.Pid))
	stat, _ := os.ReadFile(filepath.Join(dir, "stat")) // of a process that has just ended, it is empty
	_, rest, _ := strings.Cut(string(stat), ") ")
	if fields := strings.Fields(rest); len(fields) > 12 {
		for _, field := range fields[11:13] { // utime and stime in hundredths of a second, see proc_pid_stat(5)
			ticks, _ := strconv.ParseFloat(field, 64)
			cpu += ticks / 100
		}
	}
	status, _ := os.ReadFile(filepath.Join(dir, "status"))
	for line := range strings.Lines(string(status)) {
		if text, found := strings.CutPrefix(line, "VmHWM:"); found {
			kilobytes, _ := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(text), " kB"), 64)
			r.peak = kilobytes / 1024
		}
	}
	return cpu, r.peak
}

// stopReplicas stops the replicas as kubelet does. It returns an error if one ended before.
func (f *fleet) stopReplicas() error {
	var errs []error
	for _, r := range f.replicas {
		r.proxy.listener.Close()
		isRunning := r.isRunning()
		if isRunning {
			errs = append(errs, r.command.Process.Signal(syscall.SIGTERM))
			<-r.done
		}
		if !r.killed && (!isRunning || !r.command.ProcessState.Success()) {
			output, _ := os.ReadFile(r.log)
			errs = append(errs, fmt.Errorf("a controller ended (%s): %s", r.command.ProcessState, lastLines(output)))
		}
	}
	return errors.Join(errs...)
}

func lastLines(text []byte) string {
	const limit = 2000
	return string(text[max(0, len(text)-limit):])
}
