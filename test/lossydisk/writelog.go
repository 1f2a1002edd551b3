// SPDX-License-Identifier: Apache-2.0

package lossydisk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// The format of a log, from drivers/md/dm-log-writes.c: a superblock, and then entries with their data, each at the
// begin of a sector. The superblock is not used, because its number of entries is written only at a flush.
const (
	logSectorSize = 512

	flushFlag   = 1
	discardFlag = 4
)

// entry is one request in a log.
type entry struct {
	at, length int64 // on the disk
	data       int64 // position of the data in the log; 0 for a discard, which writes zeros
	isFlush    bool  // all earlier entries are durable
}

// writeLog reads a log while it is written.
type writeLog struct {
	file    *os.File
	entries []entry
	next    int64 // position of the next entry
}

// read appends the entries that were written since the last call.
func (l *writeLog) read() error {
	for {
		var head struct{ Sector, Sectors, Flags, DataLength uint64 }
		err := binary.Read(io.NewSectionReader(l.file, l.next, logSectorSize), binary.LittleEndian, &head)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || err == nil && head.Sectors|head.Flags == 0 {
			return nil // not written yet
		}
		if err != nil {
			return fmt.Errorf("reading the log of writes: %w", err)
		}
		e := entry{
			at:      int64(head.Sector) * logSectorSize,  //nolint:gosec // the disk is small
			length:  int64(head.Sectors) * logSectorSize, //nolint:gosec // the disk is small
			isFlush: head.Flags&flushFlag != 0,
		}
		l.next += logSectorSize
		if head.Flags&discardFlag == 0 {
			e.data = l.next
			l.next += e.length
		}
		l.entries = append(l.entries, e)
	}
}

// content returns the data of an entry.
func (l *writeLog) content(e entry) ([]byte, error) {
	content := make([]byte, e.length)
	if e.data == 0 {
		return content, nil
	}
	_, err := l.file.ReadAt(content, e.data)
	return content, err
}
