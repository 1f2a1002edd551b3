package ovs

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Record is what is remembered of the move that was made on this host.
type Record struct {
	report.TypeMeta
	Uplink string    `json:"uplink"`
	Made   time.Time `json:"made"`
	Gap    *Outage   `json:"gap,omitempty"` // nil: the gateway does not answer echoes, so it could not be measured
}

// Outage is how long the gateway did not answer while the uplink was moved.
type Outage struct {
	LongestSeconds float64 `json:"longestSeconds"` // from the last echo before a loss that was answered to the next one
	Sent           int     `json:"sent"`           // one each 10 ms
	Answered       int     `json:"answered"`
}

// Encode is the record as it is kept.
func (r Record) Encode() ([]byte, error) {
	content, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encoding the record of the move: %w", err)
	}
	return append(content, '\n'), nil
}

// DecodeRecord reads what Encode made.
func DecodeRecord(content []byte) (Record, error) {
	var r Record
	if err := json.Unmarshal(content, &r); err != nil {
		return r, fmt.Errorf("reading the record of the move: %w", err)
	}
	return r, nil
}

// String says it in one line.
func (r Record) String() string {
	text := fmt.Sprintf("%s was moved on %s", r.Uplink, r.Made.Local().Format(time.DateTime))
	if r.Gap == nil {
		return text + "; the gap could not be measured (the gateway does not answer echoes)"
	}
	return text + fmt.Sprintf("; gap %.2f s (%d of %d echoes answered)", r.Gap.LongestSeconds, r.Gap.Answered, r.Gap.Sent)
}

// NewRecord returns the record of a migration; outage is nil if it could not be measured.
func NewRecord(status Status, outage *host.Outage, now time.Time) Record {
	record := Record{TypeMeta: report.Meta("BridgeRecord"), Uplink: status.Uplink, Made: now.UTC()}
	if outage != nil {
		record.Gap = &Outage{LongestSeconds: outage.Longest.Seconds(), Sent: outage.Sent, Answered: outage.Answered}
	}
	return record
}
