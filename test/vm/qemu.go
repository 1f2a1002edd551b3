// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/test/vm/internal/child"
)

// startQEMU starts QEMU.
func (m *Machine) startQEMU(ctx context.Context, state string) error {
	taps, err := m.createTaps(ctx)
	defer func() {
		for _, file := range taps {
			file.Close() // only QEMU uses it from now on
		}
	}()
	if err != nil {
		return err
	}
	qmp, qmpFile, err := newMonitor()
	if err != nil {
		return err
	}
	defer qmpFile.Close()
	log, err := os.OpenFile(filepath.Join(m.cfg.Dir, "qemu.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("opening qemu's log: %w", err)
	}
	defer log.Close()

	const first = 3 // descriptor of ExtraFiles[0] in the child
	built := hardware{
		Config: m.cfg, accel: m.accel, disk: m.disk(), seed: m.seed(), console: m.Console(),
		qmpFD: first, incoming: state != "", missing: m.missing,
	}
	for i := range taps {
		built.tapFDs = append(built.tapFDs, first+1+i)
	}
	cmd := exec.Command("qemu-system-x86_64", built.arguments()...)
	cmd.ExtraFiles = append([]*os.File{qmpFile}, taps...)
	cmd.Stdout, cmd.Stderr = log, log
	if m.qemu, err = child.Start(cmd); err != nil {
		return err
	}
	qmpFile.Close() // otherwise the monitor would not detect the end of QEMU
	m.qmp = qmp
	if err := m.attach(ctx, state); err != nil {
		m.stop()
		output, _ := os.ReadFile(log.Name())
		return fmt.Errorf("%w\noutput of qemu: %s", err, output)
	}
	return nil
}

// attach connects to a QEMU process that has just started.
func (m *Machine) attach(ctx context.Context, state string) error {
	if err := m.qmp.greet(ctx); err != nil {
		return err
	}
	if state != "" {
		if err := m.load(ctx, state); err != nil {
			return err
		}
	}
	if m.cfg.Disk != "" {
		return m.updateCables(ctx, false)
	}
	port, err := m.controlPort(ctx)
	if err != nil {
		return err
	}
	m.control = net.JoinHostPort("127.0.0.1", port)
	m.Channel = newChannel(m.cfg.Image, m.sockets, "control", nil, "127.0.0.1", port)
	return m.updateCables(ctx, false)
}

// controlPort queries QEMU for the host port of the control channel.
func (m *Machine) controlPort(ctx context.Context) (string, error) {
	table, err := m.qmp.runHumanCommand(ctx, "info usernet")
	if err != nil {
		return "", err
	}
	for _, line := range strings.Split(table, "\n") {
		// TCP[HOST_FORWARD]  14  127.0.0.1 37811  198.51.100.15  22  0  0
		if f := strings.Fields(line); len(f) > 5 && f[0] == "TCP[HOST_FORWARD]" && f[5] == "22" {
			return f[3], nil
		}
	}
	return "", fmt.Errorf("finding the control channel's port in qemu's table:\n%s", table)
}
