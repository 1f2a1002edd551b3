package ovs

import (
	"fmt"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Record is the move that this driver has just made.
func (d *Driver) Record(status Status, now time.Time) Record {
	record := Record{TypeMeta: report.Meta("BridgeRecord"), Uplink: status.Uplink, Made: now.UTC()}
	if d.outage != nil {
		record.Gap = &Outage{LongestSeconds: d.outage.Longest.Seconds(), Sent: d.outage.Sent, Answered: d.outage.Answered}
	}
	return record
}

// Summary says what a run has done, for the one line of the step.
func (d *Driver) Summary(status Status) string {
	text := status.String()
	if d.outage != nil {
		text += fmt.Sprintf("; gap %.2f s", d.outage.Longest.Seconds())
	}
	for _, reach := range d.reach {
		text += "; " + reach.Name + " answers"
	}
	return text
}
