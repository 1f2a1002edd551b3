package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"time"
)

// The ledger's file, ledger.log, version 1: one record a line,
//
//	CCCCCCCC {json}\n
//
// C being the CRC-32C of the JSON in hexadecimal. The first record is of type
// "ledger" and names the version. Records are only ever appended. Those of type
// ledger, intent and done are made durable, with all before them, before anything
// else happens; undone is not, as restoring twice changes nothing. What a power
// cut leaves behind the last durable record, in whatever order the disk has
// written, is cut off when the ledger is opened. Damage to anything else is an
// error: the ledger is then not written to any more. See torn.
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

// parse returns all records and how many bytes of log are whole.
func parse(log []byte) ([]record, int, error) {
	var records []record
	good := 0
	for rest := log; len(rest) > 0; {
		line, tail, whole := bytes.Cut(rest, []byte("\n"))
		r, err := parseLine(line)
		if (!whole || err != nil) && torn(rest, len(records) == 0) {
			break
		}
		if !whole && err == nil {
			err = errors.New("record without an end")
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

// maxHeader bounds the length of the first record, which is made durable alone.
const maxHeader = 128

// torn reports whether a power cut, and not damage to the disk, can have left
// rest, which begins with a record that cannot be read. What a disk has not
// written is zeros, or is behind the end of the file. And nothing that was made
// durable comes after it.
func torn(rest []byte, first bool) bool {
	if first && len(rest) > maxHeader {
		return false
	}
	line, _, whole := bytes.Cut(rest, []byte("\n"))
	if whole && bytes.IndexByte(line, 0) < 0 && !expendable(line) {
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

// expendable reports whether a damaged record is of a type that can be missing at
// the end: then more is restored, or checked, than is necessary.
func expendable(line []byte) bool {
	_, body, _ := bytes.Cut(line, []byte(" "))
	return bytes.HasPrefix(body, []byte(`{"type":"done",`)) || bytes.HasPrefix(body, []byte(`{"type":"undone",`))
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
