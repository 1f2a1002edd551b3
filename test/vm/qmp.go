// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
)

// monitor is a QMP connection to QEMU that runs one command at a time.
type monitor struct {
	mu   sync.Mutex
	conn net.Conn
	in   *json.Decoder
}

// newMonitor returns a monitor and the other end of its connection, for QEMU. It uses a pair of
// sockets, which need no path and no cleanup.
func newMonitor() (*monitor, *os.File, error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("making the monitor's sockets: %w", err)
	}
	local := os.NewFile(uintptr(fds[0]), "qmp")
	defer local.Close()
	remote := os.NewFile(uintptr(fds[1]), "qmp")
	conn, err := net.FileConn(local)
	if err != nil {
		remote.Close()
		return nil, nil, fmt.Errorf("using the monitor's socket: %w", err)
	}
	return &monitor{conn: conn, in: json.NewDecoder(conn)}, remote, nil
}

// greet reads QEMU's greeting and completes the capabilities negotiation.
func (m *monitor) greet(ctx context.Context) error {
	return m.execute(ctx, "qmp_capabilities", nil, nil)
}

// execute runs a command and decodes its result into result, unless that is nil. If ctx ends
// during a command, execute closes the monitor, because the next response would belong to that
// command.
func (m *monitor) execute(ctx context.Context, command string, arguments, result any) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer context.AfterFunc(ctx, m.close)()
	err := m.exchange(command, arguments, result)
	if err == nil {
		return nil
	}
	var refused *commandError
	if !errors.As(err, &refused) {
		m.close()
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
	}
	return fmt.Errorf("sending %s to qemu: %w", command, err)
}

// commandError is an error response of QEMU.
type commandError struct {
	Description string `json:"desc"`
}

func (r *commandError) Error() string { return r.Description }

func (m *monitor) exchange(command string, arguments, result any) error {
	request := struct {
		Execute   string `json:"execute"`
		Arguments any    `json:"arguments,omitempty"`
	}{command, arguments}
	if err := json.NewEncoder(m.conn).Encode(request); err != nil {
		return err
	}
	for {
		var answer struct {
			Return json.RawMessage
			Error  *commandError
		}
		if err := m.in.Decode(&answer); err != nil {
			return err
		}
		switch {
		case answer.Error != nil:
			return answer.Error
		case answer.Return == nil: // a greeting or an event
		case result == nil:
			return nil
		default:
			return json.Unmarshal(answer.Return, result)
		}
	}
}

// runHumanCommand runs a command of the human monitor and returns its output. Most commands print something
// only if they fail.
func (m *monitor) runHumanCommand(ctx context.Context, line string) (string, error) {
	var answer string
	err := m.execute(ctx, "human-monitor-command", map[string]string{"command-line": line}, &answer)
	return answer, err
}

func (m *monitor) close() { m.conn.Close() }
