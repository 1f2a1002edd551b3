package ledger

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"time"
)

// The ledger's file, ledger.log, version 1: one record a line,
//
//	CCCCCCCC {json}\n
//
// C being the CRC-32C of the JSON in hexadecimal. The first record is of type
// "ledger" and names the version. Records are only ever appended; each append
// is made durable before the host is touched. A last line that is cut short
// or fails its checksum was never acted on (the write that made it durable had
// not returned), and is cut off when the ledger is opened. Damage anywhere
// else is an error: the ledger is then not written to any more.
//
// An "intent" lists changes with the state before each; with "bracket", which
// the first agents did not write yet, the wishes in them mean nothing before
// their "done". "done" says that the changes of an intent were made. "undone" says that a thing was given back.
// Contents that a change replaces are in originals/, named by their SHA-256.
const formatVersion = 1

type recordType string

const (
	header recordType = "ledger"
	intent recordType = "intent"
	done   recordType = "done"
	undone recordType = "undone"
)

type record struct {
	Type    recordType `json:"type"`
	Seq     int        `json:"seq"`
	Time    time.Time  `json:"time"`
	Version int        `json:"version,omitempty"` // of a header
	Step    string     `json:"step,omitempty"`    // of an intent: the step that made it
	Entries []entry    `json:"entries,omitempty"` // of an intent
	Bracket bool       `json:"bracket,omitempty"` // of an intent: somebody else makes the changes
	Of      int        `json:"of,omitempty"`      // of a done: the intent's number
	After   []State    `json:"after,omitempty"`   // of a done, where others decide the outcome
	Key     string     `json:"key,omitempty"`     // of an undone
}

type entry struct {
	Change
	Before State `json:"before"`
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (r record) line() ([]byte, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encoding ledger record: %w", err)
	}
	return fmt.Appendf(nil, "%08x %s\n", crc32.Checksum(body, castagnoli), body), nil
}

// parse reads all records and tells how many bytes of log are whole.
func parse(log []byte) ([]record, int, error) {
	var records []record
	good := 0
	for rest := log; len(rest) > 0; {
		line, tail, whole := bytes.Cut(rest, []byte("\n"))
		r, err := parseLine(line)
		if !whole || (err != nil && len(tail) == 0) {
			break // a torn tail
		}
		if err != nil {
			return nil, good, fmt.Errorf("reading ledger at byte %d: %w", good, err)
		}
		if r.Seq != len(records) {
			return nil, good, fmt.Errorf("reading ledger at byte %d: record %d where %d is due", good, r.Seq, len(records))
		}
		records = append(records, r)
		good += len(line) + 1
		rest = tail
	}
	if len(records) > 0 && (records[0].Type != header || records[0].Version != formatVersion) {
		return nil, 0, fmt.Errorf("reading ledger: version %d is not known to this program", records[0].Version)
	}
	return records, good, nil
}

func parseLine(line []byte) (record, error) {
	var r record
	sum, body, found := bytes.Cut(line, []byte(" "))
	if !found || string(sum) != fmt.Sprintf("%08x", crc32.Checksum(body, castagnoli)) {
		return r, fmt.Errorf("checksum is wrong")
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return r, fmt.Errorf("decoding record: %w", err)
	}
	return r, nil
}
