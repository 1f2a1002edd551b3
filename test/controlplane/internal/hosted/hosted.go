// Package hosted puts the bed's parts together to a hosted control plane in
// miniature, in a network namespace of its own.
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
)

// The network that machines see: TEST-NET-1, which is nobody's.
const (
	bridge        = "br0"
	address       = "192.0.2.1"
	bridgeAddress = address + "/24"
)

// Options say where and under which name the control plane runs.
type Options struct {
	Dir  string // for logs and state
	Bin  string // the folder that build.sh prints
	Name string // of the hosted cluster; NAME.example.com is its domain
}

// ControlPlane is a running one.
type ControlPlane struct {
	document api.Document
	options  Options
	began    time.Time
	folders  folders
	network  *netns.Namespace
	group    *process.Group
	failed   chan error
	undo     []func() error
}

// Start starts everything and returns when it is ready. On an error nothing is
// left but logs.
func Start(ctx context.Context, options Options) (*ControlPlane, error) {
	c := &ControlPlane{options: options, began: time.Now(), failed: make(chan error, 8)}
	c.document = api.Document{
		Name: options.Name, PID: os.Getpid(),
		Bridge: bridge, HostAddress: bridgeAddress, StartSeconds: map[string]float64{},
	}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// Document tells how to reach the control plane.
func (c *ControlPlane) Document() api.Document { return c.document }

// Failed yields an error when a part ends by itself.
func (c *ControlPlane) Failed() <-chan error { return c.failed }

// Stop ends every process and removes everything but the logs.
func (c *ControlPlane) Stop() error {
	var failures []error
	for i := len(c.undo) - 1; i >= 0; i-- {
		failures = append(failures, c.undo[i]())
	}
	c.undo = nil
	return errors.Join(failures...)
}

// deferred adds something for Stop to do, before what was added earlier.
func (c *ControlPlane) deferred(undo func() error) { c.undo = append(c.undo, undo) }

// done records how long a part took, from the start.
func (c *ControlPlane) done(part string) {
	c.document.StartSeconds[part] = float64(time.Since(c.began).Milliseconds()) / 1000
}

func (c *ControlPlane) domain() string             { return c.options.Name + ".example.com" }
func (c *ControlPlane) host(service string) string { return service + "." + c.domain() }

// prepare makes the folders, the namespace and its bridge.
func (c *ControlPlane) prepare() error {
	var err error
	if c.folders, err = claim(c.options.Dir); err != nil {
		return err
	}
	c.deferred(c.folders.release)
	c.document.Logs = c.folders.logs
	if c.network, err = netns.New(); err != nil {
		return err
	}
	c.deferred(c.network.Close)
	c.document.Netns = c.network.Path()
	if err := c.network.AddBridge(bridge, bridgeAddress); err != nil {
		return err
	}
	c.group = process.NewGroup(c.folders.logs, c.network.Start)
	c.deferred(func() error { c.group.Stop(); return nil })
	go func() { c.failed <- <-c.group.Failed() }()
	return nil
}

// forward leads a port of the host's loopback to a port in the namespace.
func (c *ControlPlane) forward(port string) (string, error) {
	f, err := forward.Loopback(func(ctx context.Context) (net.Conn, error) {
		return c.network.Dial(ctx, net.JoinHostPort(address, port))
	})
	if err != nil {
		return "", err
	}
	c.deferred(f.Close)
	return f.Address(), nil
}

// serve runs a server on a port in the namespace until Stop.
func (c *ControlPlane) serve(port string, serve func(net.Listener) error, stop func() error) error {
	listener, err := c.network.Listen(net.JoinHostPort(address, port))
	if err != nil {
		return fmt.Errorf("listening inside the namespace: %w", err)
	}
	c.background(func() error { return serve(listener) }, stop)
	return nil
}

// background runs a server until Stop and tells when it fails.
func (c *ControlPlane) background(serve, stop func() error) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := serve(); err != nil {
			c.failed <- err
		}
	}()
	c.deferred(func() error {
		err := stop()
		<-ended
		return err
	})
}

// log opens the log of a part that runs inside this process.
func (c *ControlPlane) log(name string) (*os.File, error) {
	file, err := os.Create(filepath.Join(c.folders.logs, name+".log"))
	if err != nil {
		return nil, fmt.Errorf("opening the log of %s: %w", name, err)
	}
	c.deferred(file.Close)
	return file, nil
}
