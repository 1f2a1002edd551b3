// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzParse parses arbitrary bytes as a ledger. The parser must not panic, must return a
// prefix, and its result must survive a round trip.
func FuzzParse(f *testing.F) {
	golden, err := os.ReadFile(filepath.Join("testdata", "v1alpha1.log"))
	if err != nil {
		f.Fatal(err)
	}
	lines := bytes.SplitAfter(golden, []byte("\n"))
	for i := range lines {
		whole := bytes.Join(lines[:i], nil)
		f.Add(whole, false)
		f.Add(withoutChecksums(whole), true)
	}
	f.Add(golden[:len(golden)/2], false)
	f.Add(bytes.Replace(golden, []byte("/etc/b"), []byte("/etc/c"), 1), false)
	f.Add(append(bytes.Clone(golden), 0, 0, 0), false)
	f.Add([]byte("null\n"), true)
	f.Fuzz(func(t *testing.T, log []byte, sum bool) {
		if sum { // otherwise a changed body never passes the checksum
			log = withChecksums(log)
		}
		records, good, err := parse(log)
		if good > len(log) {
			t.Fatalf("%d good bytes of %d", good, len(log))
		}
		if err != nil {
			return
		}
		again, length, err := parse(log[:good])
		if err != nil || length != good || len(again) != len(records) {
			t.Fatalf("the good part alone: %d of %d records, %d of %d bytes, %v", len(again), len(records), length, good, err)
		}
		var written []byte
		for _, r := range records {
			line, err := r.line()
			if err != nil {
				t.Fatal(err)
			}
			written = append(written, line...)
		}
		back, _, err := parse(written)
		if err != nil {
			t.Fatal(err)
		}
		for i := range back {
			want, errWant := records[i].line()
			got, errGot := back[i].line()
			if errWant != nil || errGot != nil || !bytes.Equal(want, got) {
				t.Fatalf("record %d (-want +got):\n%s", i, cmp.Diff(string(want), string(got)))
			}
		}
		(&Ledger{records: records}).Items()
	})
}

// withoutChecksums removes the checksums from the lines of a log.
func withoutChecksums(log []byte) []byte {
	var out []byte
	for line := range bytes.Lines(log) {
		_, body, _ := bytes.Cut(line, []byte(" "))
		out = append(out, body...)
	}
	return out
}

func withChecksums(bodies []byte) []byte {
	var out []byte
	for line := range bytes.Lines(bodies) {
		body, end := bytes.CutSuffix(line, []byte("\n"))
		out = fmt.Appendf(out, "%08x %s", crc32.Checksum(body, castagnoli), body)
		if end {
			out = append(out, '\n')
		}
	}
	return out
}
