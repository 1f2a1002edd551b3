// SPDX-License-Identifier: Apache-2.0

package systemd

import (
	"context"
	"fmt"
	"slices"
)

// Requires returns the units that unit name requires to start (Requires=,
// Requisite= and BindsTo=, from its file, its drop-ins and its .requires
// directory), including missing ones.
func (m *Manager) Requires(ctx context.Context, name string) ([]string, error) {
	properties, err := m.conn.GetUnitPropertiesContext(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("reading the requirements of %s from systemd: %w", name, err)
	}
	var units []string
	for _, kind := range []string{"Requires", "Requisite", "BindsTo"} {
		listed, _ := properties[kind].([]string)
		for _, unit := range listed {
			if !slices.Contains(units, unit) {
				units = append(units, unit)
			}
		}
	}
	return units, nil
}
