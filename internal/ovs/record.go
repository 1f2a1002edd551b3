// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Record describes the migration of this host's uplink, in the agent's state and in documents.
type Record struct {
	Uplink     string    `json:"uplink" doc:"interface that was attached to br-ex"`
	MigratedAt time.Time `json:"migratedAt" doc:"time of the migration"`
	Outage     *Outage   `json:"outage,omitempty" doc:"interruption of the network; absent if the gateway does not respond to echo requests"`
}

// Outage describes how long the gateway did not respond during the migration. An interruption lasts
// from the last request before a loss that got a reply to the next one.
type Outage struct {
	LongestSeconds float64 `json:"longestSeconds" doc:"longest interruption in seconds"`
	Sent           int     `json:"sent" doc:"number of echo requests to the gateway, one every 10 ms"`
	Received       int     `json:"received" doc:"number of echo replies"`
}

// recordFile is the format of the file with a Record.
type recordFile struct {
	report.TypeMeta
	Record
}

// NewRecord returns the record of a migration; outage is nil if it could not be measured.
func NewRecord(status Status, outage *hostnet.Outage, now time.Time) Record {
	record := Record{Uplink: status.Uplink, MigratedAt: now.UTC()}
	if outage != nil {
		record.Outage = &Outage{LongestSeconds: outage.Longest.Seconds(), Sent: outage.Sent, Received: outage.Answered}
	}
	return record
}

// Encode returns the content of the file with the record.
func (r Record) Encode() ([]byte, error) {
	content, err := json.MarshalIndent(recordFile{report.Meta("BridgeRecord"), r}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encoding the record of the migration: %w", err)
	}
	return append(content, '\n'), nil
}

// DecodeRecord parses what Encode returned.
func DecodeRecord(content []byte) (Record, error) {
	var file recordFile
	if err := json.Unmarshal(content, &file); err != nil {
		return file.Record, fmt.Errorf("reading the record of the migration: %w", err)
	}
	return file.Record, nil
}

// String returns the record as one line of text.
func (r Record) String() string {
	text := fmt.Sprintf("%s was attached to br-ex at %s", r.Uplink, r.MigratedAt.Local().Format(time.RFC3339))
	if r.Outage == nil {
		return text + "; the network interruption could not be measured (the gateway does not respond to echo requests)"
	}
	return text + fmt.Sprintf("; network interruption %.2f s (%d of %d echo replies received)",
		r.Outage.LongestSeconds, r.Outage.Received, r.Outage.Sent)
}
