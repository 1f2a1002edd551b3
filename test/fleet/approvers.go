// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"

	"k8s.io/client-go/kubernetes"

	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/test/bed"
	"github.com/hcp-node-agent/hcp-node-agent/test/rights"
)

// approverProcess is a running "approve --watch" with the rights of the manifests in deploy.
type approverProcess struct {
	command *exec.Cmd
	proxy   *countingProxy
	errors  *os.File
	mu      sync.Mutex
	events  []approver.Event
	done    chan struct{} // closed when all output is read
}

// approverResult is the result and the resource use of one approver.
type approverResult struct {
	approved int
	received int64   // bytes
	cpu      float64 // seconds
	peak     float64 // peak memory in MiB
}

func startApprover(ctx context.Context, program string, plane *bed.ControlPlane, admin kubernetes.Interface, dir,
	enrollments string,
) (*approverProcess, error) {
	w, err := newCountingProxy(plane.APIForward)
	if err != nil {
		return nil, err
	}
	kubeconfig, err := rights.NewKubeconfig(ctx, admin, rights.Approver, plane.Kubeconfig, w.server())
	if err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(dir, "approver-*.kubeconfig")
	if err != nil {
		return nil, fmt.Errorf("writing the approver's kubeconfig: %w", err)
	}
	_, err = file.Write(kubeconfig)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("writing the approver's kubeconfig: %w", err)
	}
	p := &approverProcess{proxy: w, done: make(chan struct{})}
	if p.errors, err = os.Create(filepath.Join(dir, filepath.Base(file.Name())+".log")); err != nil {
		return nil, fmt.Errorf("making the approver's log: %w", err)
	}
	p.command = exec.CommandContext(ctx, program, "approve", "--watch", "--enrollments", enrollments, "--kubeconfig",
		file.Name(), "--output", "json")
	p.command.Stderr = p.errors
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("starting an approver: %w", err)
	}
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("starting an approver: %w", err)
	}
	go p.readEvents(out)
	return p, nil
}

func (p *approverProcess) readEvents(out io.Reader) {
	defer close(p.done)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var recorded approver.Event
		if err := json.Unmarshal(lines.Bytes(), &recorded); err != nil {
			recorded.Reason = "unreadable: " + lines.Text()
		}
		p.mu.Lock()
		p.events = append(p.events, recorded)
		p.mu.Unlock()
	}
}

// stop terminates the approver as systemd does and returns its result.
func (p *approverProcess) stop() (approverResult, error) {
	defer p.proxy.listener.Close()
	defer p.errors.Close()
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		return approverResult{}, fmt.Errorf("stopping an approver: %w", err)
	}
	<-p.done
	if err := p.command.Wait(); err != nil {
		output, _ := os.ReadFile(p.errors.Name())
		return approverResult{}, fmt.Errorf("an approver ended with %w: %s", err, output)
	}
	r := approverResult{received: p.proxy.received.Load()}
	state := p.command.ProcessState
	r.cpu = (state.UserTime() + state.SystemTime()).Seconds()
	if usage, known := state.SysUsage().(*syscall.Rusage); known {
		r.peak = float64(usage.Maxrss) / 1024
	}
	for _, recorded := range p.events {
		if recorded.Outcome == approver.Approved {
			r.approved++
		}
	}
	return r, nil
}
