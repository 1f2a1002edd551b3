package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Content is the content of a file.
type Content struct {
	Bytes []byte
	Cut   bool // earlier content is missing
}

// Piece is one file of a bundle.
type Piece struct {
	Name   string // name in the bundle
	Source string // as in Entry
	Get    func(ctx context.Context) (Content, error)
}

// Limits are the limits of a bundle.
type Limits struct {
	Piece int           // bytes per file; only the end of a larger file is kept
	Total int           // bytes of all files before compression
	Time  time.Duration // timeout per file
}

// DefaultLimits returns limits of 5 MiB and 20 seconds per file, and 64 MiB in total.
func DefaultLimits() Limits { return Limits{Piece: 5 << 20, Total: 64 << 20, Time: 20 * time.Second} }

// Write writes a bundle: a compressed tar archive. Each file is masked before it is
// truncated, and its entry in the manifest is masked too. A file that cannot be read in
// time is noted in the manifest, and Write continues.
func Write(ctx context.Context, w io.Writer, about Manifest, pieces []Piece, mask func(string) string, limits Limits) (Manifest, error) {
	about.TypeMeta = report.Meta("BundleManifest")
	about.Pieces = make([]Entry, 0, len(pieces))
	compressed := gzip.NewWriter(w)
	archive := &archive{tar: tar.NewWriter(compressed), time: about.Created, room: limits.Total}
	for _, piece := range pieces {
		entry, err := archive.take(ctx, piece, mask, limits)
		if err != nil {
			return about, err
		}
		about.Pieces = append(about.Pieces, entry)
	}
	var list bytes.Buffer
	if err := report.WriteJSON(&list, about); err != nil {
		return about, err
	}
	if err := archive.add(ManifestName, list.Bytes()); err != nil {
		return about, err
	}
	if err := errors.Join(archive.tar.Close(), compressed.Close()); err != nil {
		return about, fmt.Errorf("writing bundle: %w", err)
	}
	return about, nil
}

type archive struct {
	tar  *tar.Writer
	time time.Time
	room int // remaining bytes for files
}

// take reads a file and writes it to the archive. It returns an error only if the bundle
// cannot be continued.
func (a *archive) take(ctx context.Context, piece Piece, mask func(string) string, limits Limits) (Entry, error) {
	entry := Entry{Name: mask(piece.Name), Source: mask(piece.Source)}
	content, err := get(ctx, piece, limits.Time)
	if ctx.Err() != nil {
		return entry, fmt.Errorf("making bundle: %w", context.Cause(ctx))
	}
	if err != nil {
		entry.Missing = mask(err.Error())
		return entry, nil
	}
	text := string(content.Bytes)
	if content.Cut {
		text = wholeLines(text) // mask does not recognize half a secret
	}
	masked := mask(text)
	kept, cut := end(masked, min(limits.Piece, a.room))
	if cut && kept == "" && a.room < limits.Piece {
		entry.Missing = fmt.Sprintf("there was no room for it: a bundle has %d bytes at most", limits.Total)
		return entry, nil
	}
	entry.Bytes, entry.Cut, entry.Masked = len(kept), cut || content.Cut, masked != text
	a.room -= len(kept)
	return entry, a.add(entry.Name, []byte(kept))
}

// get reads a file and enforces the timeout, even if the file's Get ignores its context.
func get(ctx context.Context, piece Piece, limit time.Duration) (Content, error) {
	type gotten struct {
		content Content
		err     error
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	result := make(chan gotten, 1)
	go func() {
		content, err := piece.Get(ctx)
		result <- gotten{content, err}
	}()
	select {
	case got := <-result:
		return got.content, got.err
	case <-ctx.Done():
		return Content{}, fmt.Errorf("it was not there after %s", limit)
	}
}

func (a *archive) add(name string, content []byte) error {
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(content)), Mode: 0o600, ModTime: a.time}
	err := a.tar.WriteHeader(header)
	if err == nil {
		_, err = a.tar.Write(content)
	}
	if err != nil {
		return fmt.Errorf("writing bundle: %w", err)
	}
	return nil
}
