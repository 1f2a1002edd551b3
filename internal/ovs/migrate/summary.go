// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
)

// Record returns the record of the migration that the driver has just
// completed.
func (d *Driver) Record(status ovs.Status, now time.Time) ovs.Record {
	return ovs.Record{Uplink: status.Uplink, MigratedAt: now.UTC(), Outage: d.outage}
}

// Summary returns the result of a migration as one line for the step.
func (d *Driver) Summary(status ovs.Status, endpoints []Endpoint) string {
	text := status.String()
	if d.outage != nil {
		text += "; " + d.outage.String()
	}
	for _, endpoint := range endpoints {
		text += "; " + endpoint.Name + " is reachable"
	}
	return text
}
