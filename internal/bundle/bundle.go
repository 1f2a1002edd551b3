// SPDX-License-Identifier: Apache-2.0

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
	Bytes     []byte
	Truncated bool // earlier content is missing
}

// File is one file of a bundle.
type File struct {
	Name   string // name in the bundle
	Source string // as in Entry
	Get    func(ctx context.Context) (Content, error)
}

// Limits are the limits of a bundle.
type Limits struct {
	File    int           // bytes per file; only the end of a larger file is kept
	Total   int           // bytes of all files before compression
	Timeout time.Duration // timeout per file
}

// DefaultLimits returns limits of 5 MiB and 20 seconds per file, and 64 MiB in total.
func DefaultLimits() Limits { return Limits{File: 5 << 20, Total: 64 << 20, Timeout: 20 * time.Second} }

// Write writes a bundle: a compressed tar archive. Each file is masked before it is
// truncated, and its entry in the manifest is masked too. A file that cannot be read in
// time is noted in the manifest, and Write continues.
func Write(ctx context.Context, w io.Writer, about Manifest, pieces []File, mask func(string) string, limits Limits) (Manifest, error) {
	about.TypeMeta = report.Meta("BundleManifest")
	about.Files = nil
	compressed := gzip.NewWriter(w)
	archive := &archive{tar: tar.NewWriter(compressed), time: about.Created, remaining: limits.Total}
	for _, piece := range pieces {
		entry, err := archive.addFile(ctx, piece, mask, limits)
		if err != nil {
			return about, err
		}
		about.Files = append(about.Files, entry)
	}
	var list bytes.Buffer
	if err := report.WriteJSON(&list, about); err != nil {
		return about, err
	}
	if err := archive.write(ManifestName, list.Bytes()); err != nil {
		return about, err
	}
	if err := errors.Join(archive.tar.Close(), compressed.Close()); err != nil {
		return about, fmt.Errorf("writing bundle: %w", err)
	}
	return about, nil
}

type archive struct {
	tar       *tar.Writer
	time      time.Time
	remaining int // remaining bytes for files
}

// addFile reads a file and writes it to the archive. It returns an error only if the bundle
// cannot be continued.
func (a *archive) addFile(ctx context.Context, piece File, mask func(string) string, limits Limits) (Entry, error) {
	entry := Entry{Name: mask(piece.Name), Source: mask(piece.Source)}
	content, err := getWithTimeout(ctx, piece, limits.Timeout)
	if ctx.Err() != nil {
		return entry, fmt.Errorf("creating bundle: %w", context.Cause(ctx))
	}
	if err != nil {
		entry.Missing = mask(err.Error())
		return entry, nil
	}
	text := string(content.Bytes)
	if content.Truncated {
		text = wholeLines(text) // mask does not recognize half a secret
	}
	masked := mask(text)
	kept, cut := lastLines(masked, min(limits.File, a.remaining))
	if cut && kept == "" && a.remaining < limits.File {
		entry.Missing = fmt.Sprintf("excluded: the bundle is limited to %d bytes", limits.Total)
		return entry, nil
	}
	entry.Bytes, entry.Truncated, entry.Masked = len(kept), cut || content.Truncated, masked != text
	a.remaining -= len(kept)
	return entry, a.write(entry.Name, []byte(kept))
}

// getWithTimeout reads a file and enforces the timeout, even if the file's Get ignores its context.
func getWithTimeout(ctx context.Context, piece File, limit time.Duration) (Content, error) {
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
		return Content{}, fmt.Errorf("timed out after %s", limit)
	}
}

func (a *archive) write(name string, content []byte) error {
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
