// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Record describes the migration of this host's uplink.
type Record struct {
	report.TypeMeta
	Uplink     string    `json:"uplink"`
	MigratedAt time.Time `json:"made"`
	Outage     *Outage   `json:"gap,omitempty"` // nil: not measurable, because the gateway does not respond to echo requests
}

// Outage describes how long the gateway did not respond during the migration.
type Outage struct {
	LongestSeconds float64 `json:"longestSeconds"` // from the last request before a loss that got a reply to the next one
	Sent           int     `json:"sent"`           // one every 10 ms
	Answered       int     `json:"answered"`
}

// Encode returns the record as JSON.
func (r Record) Encode() ([]byte, error) {
	content, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encoding the record of the migration: %w", err)
	}
	return append(content, '\n'), nil
}

// DecodeRecord parses what Encode returned.
func DecodeRecord(content []byte) (Record, error) {
	var r Record
	if err := json.Unmarshal(content, &r); err != nil {
		return r, fmt.Errorf("reading the record of the migration: %w", err)
	}
	return r, nil
}

// PublishedRecord is a Record in a published document, whose format does not depend on the saved
// record.
type PublishedRecord struct {
	Uplink     string           `json:"uplink" doc:"interface that was attached to br-ex"`
	MigratedAt time.Time        `json:"migratedAt" doc:"time of the migration"`
	Outage     *PublishedOutage `json:"outage,omitempty" doc:"interruption of the network; absent if the gateway does not respond to echo requests"`
}

// PublishedOutage is an Outage in a published document.
type PublishedOutage struct {
	LongestSeconds float64 `json:"longestSeconds" doc:"longest interruption in seconds"`
	Sent           int     `json:"sent" doc:"number of echo requests to the gateway, one every 10 ms"`
	Answered       int     `json:"received" doc:"number of echo replies"`
}

// PublishRecord returns the record for a published document.
func PublishRecord(r Record) *PublishedRecord {
	return &PublishedRecord{Uplink: r.Uplink, MigratedAt: r.MigratedAt, Outage: (*PublishedOutage)(r.Outage)}
}

// String returns the record as one line of text.
func (r PublishedRecord) String() string {
	text := fmt.Sprintf("%s was attached to br-ex at %s", r.Uplink, r.MigratedAt.Local().Format(time.RFC3339))
	if r.Outage == nil {
		return text + "; the network interruption could not be measured (the gateway does not respond to echo requests)"
	}
	return text + fmt.Sprintf("; network interruption %.2f s (%d of %d echo replies received)", r.Outage.LongestSeconds, r.Outage.Answered, r.Outage.Sent)
}

// NewRecord returns the record of a migration; outage is nil if it could not be measured.
func NewRecord(status Status, outage *hostnet.Outage, now time.Time) Record {
	record := Record{TypeMeta: report.Meta("BridgeRecord"), Uplink: status.Uplink, MigratedAt: now.UTC()}
	if outage != nil {
		record.Outage = &Outage{LongestSeconds: outage.Longest.Seconds(), Sent: outage.Sent, Answered: outage.Answered}
	}
	return record
}
