// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

// The file format of ledger.log: one record per line,
//
//	CCCCCCCC {json}\n
//
// where C is the CRC-32C of the JSON in hexadecimal. The first record has the type "ledger" and
// contains the version of the format, as the apiVersion of other documents. A file of another
// version, or a record with an unknown field, is refused and remains unchanged. Records are only ever
// appended. Records of the types ledger, intent and done are made durable, together with all earlier
// records, before anything else happens. An undone record is not, because restoring twice changes
// nothing. Whatever a power failure leaves behind the last durable record, in any order of disk
// writes, is truncated when the ledger is opened. Any other damage is an error, and the ledger is not
// written to any more. See isTruncated.
//
// An "intent" record lists changes with the state before each change. If the changes are external,
// their desired states are undefined until the "done" record.
// A "done" record means that the changes of an intent were made. An "undone" record means that
// an object was restored. Contents that a change replaces are saved in originals/, named by
// their SHA-256.
const formatKind = "Ledger"

type recordType string

const (
	header recordType = "ledger"
	intent recordType = "intent"
	done   recordType = "done"
	undone recordType = "undone"
)

type record struct {
	Type     recordType       `json:"type"`
	Seq      int              `json:"seq"`
	Time     time.Time        `json:"time"`
	Meta     *report.TypeMeta `json:"meta,omitempty"`     // header: the version of the format
	Step     string           `json:"step,omitempty"`     // intent: the step of the join
	Entries  []entry          `json:"entries,omitempty"`  // intent
	External bool             `json:"external,omitempty"` // intent: changed externally
	Intent   int              `json:"intent,omitempty"`   // done: the sequence number of the intent
	After    []State          `json:"after,omitempty"`    // done: the states after external changes
	Key      string           `json:"key,omitempty"`      // undone
}

type entry struct {
	Change
	Before State `json:"before"`
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (r record) line() ([]byte, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encoding a ledger record: %w", err)
	}
	return fmt.Appendf(nil, "%08x %s\n", crc32.Checksum(body, castagnoli), body), nil
}

// parse returns all records and the length of the valid prefix of log in bytes.
func parse(log []byte) ([]record, int, error) {
	var records []record
	good := 0
	for rest := log; len(rest) > 0; {
		line, tail, whole := bytes.Cut(rest, []byte("\n"))
		r, err := parseLine(line)
		if err != nil && !errors.Is(err, errChecksum) {
			return nil, good, report.RefuseFormat("reading the ledger: %w", err)
		}
		if (!whole || err != nil) && isTruncated(rest, len(records) == 0) {
			break
		}
		if !whole && err == nil {
			err = errors.New("record is incomplete")
		}
		if err != nil {
			return nil, good, fmt.Errorf("reading the ledger at byte %d: %w", good, err)
		}
		if !r.Type.isKnown() {
			return nil, good, report.RefuseFormat("reading the ledger: the record type %q is not supported", r.Type)
		}
		if r.Seq != len(records) {
			return nil, good, fmt.Errorf("reading the ledger at byte %d: found record %d instead of %d", good, r.Seq,
				len(records))
		}
		records = append(records, r)
		good += len(line) + 1
		rest = tail
	}
	if len(records) > 0 && (records[0].Meta == nil || *records[0].Meta != report.Meta(formatKind)) {
		return nil, 0, report.RefuseFormat("reading the ledger: the format %+v is not supported", records[0].Meta)
	}
	return records, good, nil
}

// maxHeader is the maximum length of the first record, which is made durable alone.
const maxHeader = 256

// isTruncated reports whether a power failure, and not disk damage, can have left rest, which
// begins with an unreadable record. Data that a disk has not written is zeros, or is behind
// the end of the file. No durable record can follow.
func isTruncated(rest []byte, first bool) bool {
	if first && len(rest) > maxHeader {
		return false
	}
	line, _, whole := bytes.Cut(rest, []byte("\n"))
	if whole && bytes.IndexByte(line, 0) < 0 && !isExpendable(line) {
		return false
	}
	for line := range bytes.Lines(rest) {
		line, whole := bytes.CutSuffix(line[bytes.LastIndexByte(line, 0)+1:], []byte("\n"))
		if r, err := parseLine(line); whole && err == nil && r.Type != undone {
			return false
		}
	}
	return true
}

// isExpendable reports whether the type of a damaged record allows it to be lost at the end
// of the log. Without the record, more is restored or checked than necessary.
func isExpendable(line []byte) bool {
	_, body, _ := bytes.Cut(line, []byte(" "))
	return bytes.HasPrefix(body, []byte(`{"type":"done",`)) || bytes.HasPrefix(body, []byte(`{"type":"undone",`))
}

func parseLine(line []byte) (record, error) {
	var r record
	sum, body, found := bytes.Cut(line, []byte(" "))
	if !found || string(sum) != fmt.Sprintf("%08x", crc32.Checksum(body, castagnoli)) {
		return r, errChecksum
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&r)
	return r, wrap.Errorf(err, "decoding a record")
}

var errChecksum = errors.New("checksum mismatch")

// isKnown reports whether this version of the format has the type.
func (t recordType) isKnown() bool {
	return slices.Contains([]recordType{header, intent, done, undone}, t)
}
