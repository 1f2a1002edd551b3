// SPDX-License-Identifier: Apache-2.0

package osimage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

const (
	// durableStep is the number of bytes after which a download is made durable. After a power failure
	// it continues at a multiple of it, because data after the last one can be lost.
	durableStep = 16 << 20
	// minProgress is the number of bytes that count as progress.
	minProgress = 64 << 10
	// stallTimeout is the maximum time without progress. The least rate is therefore 1 kB/s.
	stallTimeout = time.Minute
	// maxFailures is the number of attempts in succession without progress. A link of
	// 256 kbit/s that is interrupted every second makes progress in every second attempt.
	maxFailures = 10
)

var errStalled = fmt.Errorf("the registry sent less than %d kB in %s", minProgress>>10, stallTimeout)

// blobSource is an image whose blobs can be downloaded.
type blobSource interface {
	Blob(ctx context.Context, layer v1.Descriptor, offset int64) (*Blob, error)
}

// transfer is a download into a file that may contain the beginning.
type transfer struct {
	file     *os.File
	layer    v1.Descriptor
	progress func(done, total int64)

	offset int64
	sum    hash.Hash
}

// download downloads a layer into a file. It continues an earlier download of the same layer, and
// makes the file durable. It retries failures of the network as long as the download makes progress.
// The file is complete and verified when download returns nil.
func download(
	ctx context.Context, from blobSource, layer v1.Descriptor, file *os.File, progress func(done, total int64),
) error {
	d := &transfer{file: file, layer: layer, progress: progress}
	if err := d.resume(); err != nil {
		return err
	}
	pause, furthest := wait.NewBackoff(), d.offset
	for failures := 0; d.offset < layer.Size; {
		err := d.attempt(ctx, from)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		// An attempt without ranges begins at 0, and gets no further than an earlier one.
		if failures++; d.offset >= furthest+minProgress {
			failures, pause, furthest = 0, wait.NewBackoff(), d.offset
		}
		var fatal *fatalError
		if errors.As(err, &fatal) {
			return err
		}
		if failures == maxFailures {
			return report.AddRemedy(err, "# run the command again to continue the download")
		}
		if err := wait.Sleep(ctx, pause.Step()); err != nil {
			return err
		}
	}
	return d.verify()
}

// fatalError is a failure that a retry does not fix.
type fatalError struct{ error }

func (e *fatalError) Unwrap() error { return e.error }

// resume reads the beginning of the layer that is already in the file.
func (d *transfer) resume() error {
	size, err := d.file.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("reading the download: %w", err)
	}
	if size != d.layer.Size {
		size -= size % durableStep
	}
	if size > d.layer.Size {
		size = 0
	}
	return d.restart(size)
}

// restart continues after the first size bytes of the file.
func (d *transfer) restart(size int64) error {
	d.sum, d.offset = sha256.New(), size
	if err := d.file.Truncate(size); err != nil {
		return fmt.Errorf("truncating the download: %w", err)
	}
	if _, err := d.file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("reading the download: %w", err)
	}
	if _, err := io.CopyN(d.sum, d.file, size); err != nil {
		return fmt.Errorf("reading the download: %w", err)
	}
	return nil
}

// attempt downloads the remaining bytes with one request. It fails if the request makes no progress
// for stallTimeout.
func (d *transfer) attempt(ctx context.Context, from blobSource) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stalled := time.AfterFunc(stallTimeout, func() { cancel(errStalled) })
	defer stalled.Stop()
	blob, err := from.Blob(ctx, d.layer, d.offset)
	if err == nil {
		defer blob.Close()
		err = d.receive(blob, func() { stalled.Reset(stallTimeout) })
	}
	if err != nil && errors.Is(context.Cause(ctx), errStalled) {
		err = errStalled
	}
	if err != nil {
		return fmt.Errorf("the transfer of layer %s failed after %d of %d bytes: %w",
			d.layer.Digest, d.offset, d.layer.Size, err)
	}
	return nil
}

// receive writes a blob to the file, and calls advanced after each minProgress bytes.
func (d *transfer) receive(blob *Blob, advanced func()) error {
	if blob.Offset != d.offset {
		if err := d.restart(0); err != nil {
			return &fatalError{err}
		}
	}
	buffer := make([]byte, 256<<10)
	for received := 0; d.offset < d.layer.Size; {
		n, err := blob.Read(buffer[:min(int64(len(buffer)), d.layer.Size-d.offset)])
		if received += n; received >= minProgress {
			advanced()
			received = 0
		}
		if n > 0 {
			if err := d.write(buffer[:n]); err != nil {
				return &fatalError{err}
			}
		}
		if errors.Is(err, io.EOF) && d.offset < d.layer.Size {
			return io.ErrUnexpectedEOF
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
	return nil
}

// write appends bytes to the file.
func (d *transfer) write(content []byte) error {
	if _, err := d.file.Write(content); err != nil {
		return fmt.Errorf("storing layer %s: %w", d.layer.Digest, err)
	}
	d.sum.Write(content)
	before := d.offset
	d.offset += int64(len(content))
	d.progress(d.offset, d.layer.Size)
	if before/durableStep == d.offset/durableStep && d.offset < d.layer.Size {
		return nil
	}
	if err := d.file.Sync(); err != nil {
		return fmt.Errorf("storing layer %s: %w", d.layer.Digest, err)
	}
	return nil
}

// verify compares the digest of the file with that of the layer. It empties a file that differs, so
// that the next run downloads it again.
func (d *transfer) verify() error {
	got := hex.EncodeToString(d.sum.Sum(nil))
	if d.layer.Digest.Algorithm == "sha256" && got == d.layer.Digest.Hex {
		return nil
	}
	return errors.Join(report.Fail(report.Failed,
		"# run the command again to download it again; if the failure persists, mirror the image again",
		"the downloaded layer has the digest sha256:%s, but the OS image names %s", got, d.layer.Digest), d.restart(0))
}
