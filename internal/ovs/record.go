// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"fmt"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

// Record describes the migration of this host's uplink, in the agent's state and in documents.
type Record struct {
	Uplink     string          `json:"uplink" doc:"interface that was attached to br-ex"`
	MigratedAt time.Time       `json:"migratedAt" doc:"time of the migration"`
	Outage     *hostnet.Outage `json:"outage,omitempty" doc:"interruption; absent if the gateway ignores echo requests"`
}

// recordFile is the format of the file with a Record.
type recordFile struct {
	report.TypeMeta
	Record
}

const kindRecord = "BridgeRecord"

// Encode returns the content of the file with the record.
func (r Record) Encode() ([]byte, error) {
	content, err := report.Encode(recordFile{report.Meta(kindRecord), r})
	return content, wrap.Errorf(err, "encoding the record of the migration")
}

// DecodeRecord parses what Encode returned.
func DecodeRecord(content []byte) (Record, error) {
	var file recordFile
	err := report.Decode(kindRecord, content, &file)
	return file.Record, wrap.Errorf(err, "reading the record of the migration")
}

// String returns the record as one line of text.
func (r Record) String() string {
	text := fmt.Sprintf("%s was attached to br-ex at %s", r.Uplink, r.MigratedAt.Local().Format(time.RFC3339))
	if r.Outage == nil {
		return text + "; the network interruption could not be measured (the gateway does not respond to echo requests)"
	}
	return text + fmt.Sprintf("; %s (%d of %d echo replies received)", r.Outage, r.Outage.Received, r.Outage.Sent)
}
