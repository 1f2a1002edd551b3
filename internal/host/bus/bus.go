// SPDX-License-Identifier: Apache-2.0

// Package bus connects to the system's D-Bus daemon.
package bus

import (
	"context"
	"sync"

	"github.com/godbus/dbus/v5"

	"github.com/hcp-node-agent/hcp-node-agent/internal/trace"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

// Connect connects to the system bus. The end of ctx closes the connection. A recorder in ctx records the calls.
func Connect(ctx context.Context) (*dbus.Conn, error) {
	options := []dbus.ConnOption{dbus.WithContext(ctx)}
	if recorder := trace.From(ctx); recorder != nil {
		calls := &calls{recorder: recorder, pending: map[uint32]func(){}}
		options = append(options, dbus.WithOutgoingInterceptor(calls.sent), dbus.WithIncomingInterceptor(calls.received))
	}
	connection, err := dbus.ConnectSystemBus(options...)
	return connection, wrap.Errorf(err, "connecting to the system bus")
}

// calls records the calls of one connection.
type calls struct {
	recorder *trace.Recorder

	mu      sync.Mutex
	pending map[uint32]func() // by serial number
}

func (c *calls) sent(message *dbus.Message) {
	if message.Type != dbus.TypeMethodCall {
		return
	}
	member, _ := message.Headers[dbus.FieldMember].Value().(string)
	path, _ := message.Headers[dbus.FieldPath].Value().(dbus.ObjectPath)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending[message.Serial()] = c.recorder.Start(trace.DBus, member+" "+string(path))
}

func (c *calls) received(message *dbus.Message) {
	serial, isReply := message.Headers[dbus.FieldReplySerial].Value().(uint32)
	if !isReply {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if end := c.pending[serial]; end != nil {
		end()
		delete(c.pending, serial)
	}
}
