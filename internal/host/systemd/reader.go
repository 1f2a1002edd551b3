// SPDX-License-Identifier: Apache-2.0

package systemd

import "context"

// Reader reads the state of units. *Manager implements it; code that has only a Reader cannot start or stop units.
type Reader interface {
	Version() (string, error)
	UnitState(ctx context.Context, name string) (UnitState, error)
	UnitFiles(ctx context.Context) (map[string]string, error)
	Requires(ctx context.Context, name string) ([]string, error)
}

// Reader returns m as a Reader, which is nil if m is nil: systemd is unreachable then.
func (m *Manager) Reader() Reader {
	if m == nil {
		return nil
	}
	return m
}
