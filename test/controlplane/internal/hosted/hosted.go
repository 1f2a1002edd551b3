// SPDX-License-Identifier: Apache-2.0

// Package hosted assembles a miniature hosted control plane in a network namespace of its own.
package hosted

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/api"
	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/forward"
	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/netns"
	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/process"
	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/stack"
)

// bridge is the bridge of the machines.
const bridge = "br0"

// Options configure the control plane.
type Options struct {
	Dir   string // directory for logs and state
	Bin   string // directory that build.sh prints
	Name  string // name of the hosted cluster; NAME.example.com is its domain
	Stack string // address families, see stack.Parse
}

// ControlPlane is a running control plane.
type ControlPlane struct {
	document api.Document
	options  Options
	stack    stack.Stack
	started  time.Time
	dirs     directories
	network  *netns.Namespace
	group    *process.Group
	failed   chan error
	undo     []func() error
}

// Start starts every component and returns when all are ready. On error only the logs remain.
func Start(ctx context.Context, options Options) (*ControlPlane, error) {
	families, err := stack.Parse(options.Stack)
	if err != nil {
		return nil, err
	}
	c := &ControlPlane{options: options, stack: families, started: time.Now(), failed: make(chan error, 8)}
	c.document = api.Document{
		Name: options.Name, PID: os.Getpid(),
		Bridge: bridge, HostAddress: families.Bridge[0].String(), Stack: families.Name, StartSeconds: map[string]float64{},
	}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// Document returns the addresses and paths that clients need.
func (c *ControlPlane) Document() api.Document { return c.document }

// Failed returns a channel that receives an error when a component exits unexpectedly.
func (c *ControlPlane) Failed() <-chan error { return c.failed }

// Stop ends every process and removes all files but the logs.
func (c *ControlPlane) Stop() error {
	var failures []error
	for i := len(c.undo) - 1; i >= 0; i-- {
		failures = append(failures, c.undo[i]())
	}
	c.undo = nil
	return errors.Join(failures...)
}

// onStop registers a function that Stop calls, in reverse order of registration.
func (c *ControlPlane) onStop(undo func() error) { c.undo = append(c.undo, undo) }

// recordReady records the time from the start until a component was ready.
func (c *ControlPlane) recordReady(part string) {
	c.document.StartSeconds[part] = float64(time.Since(c.started).Milliseconds()) / 1000
}

func (c *ControlPlane) domain() string             { return c.options.Name + ".example.com" }
func (c *ControlPlane) host(service string) string { return service + "." + c.domain() }

// prepare creates the directories, the namespace and its bridge.
func (c *ControlPlane) prepare() error {
	var err error
	if c.dirs, err = lockDirectory(c.options.Dir); err != nil {
		return err
	}
	c.onStop(c.dirs.release)
	c.document.Logs = c.dirs.logs
	if c.network, err = netns.New(); err != nil {
		return err
	}
	c.onStop(c.network.Close)
	c.document.Netns = c.network.Path()
	if err := c.network.AddBridge(bridge, c.stack.Bridge); err != nil {
		return err
	}
	c.group = process.NewGroup(c.dirs.logs, c.network.Start)
	c.onStop(func() error { c.group.Stop(); return nil })
	go func() { c.failed <- <-c.group.Failed() }()
	return nil
}

// forward forwards a port of the host's loopback interface to a port in the namespace.
func (c *ControlPlane) forward(port string) (string, error) {
	f, err := forward.Loopback(func(ctx context.Context) (net.Conn, error) {
		return c.network.Dial(ctx, net.JoinHostPort(c.stack.Address().String(), port))
	})
	if err != nil {
		return "", err
	}
	c.onStop(f.Close)
	return f.Address(), nil
}

// serve runs a server on a port in the namespace until Stop.
func (c *ControlPlane) serve(port string, serve func(net.Listener) error, stop func() error) error {
	listener, err := c.network.Listen(":" + port)
	if err != nil {
		return fmt.Errorf("listening inside the namespace: %w", err)
	}
	c.background(func() error { return serve(listener) }, stop)
	return nil
}

// background runs a server until Stop and reports its failure on the failed channel.
func (c *ControlPlane) background(serve, stop func() error) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := serve(); err != nil {
			c.failed <- err
		}
	}()
	c.onStop(func() error {
		err := stop()
		<-ended
		return err
	})
}

// log opens the log of a component that runs in this process.
func (c *ControlPlane) log(name string) (*os.File, error) {
	file, err := os.Create(filepath.Join(c.dirs.logs, name+".log"))
	if err != nil {
		return nil, fmt.Errorf("opening the log of %s: %w", name, err)
	}
	c.onStop(file.Close)
	return file, nil
}
