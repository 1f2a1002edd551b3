// SPDX-License-Identifier: Apache-2.0

package osimage

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// testSource serves one blob. The first transfers end after the given numbers of bytes.
type testSource struct {
	content   []byte
	endsAfter []int
	noRanges  bool
	offsets   []int64 // that were requested
}

func (s *testSource) Blob(_ context.Context, _ v1.Descriptor, offset int64) (*Blob, error) {
	s.offsets = append(s.offsets, offset)
	if s.noRanges {
		offset = 0
	}
	content := s.content[offset:]
	if len(s.endsAfter) > 0 {
		content, s.endsAfter = content[:s.endsAfter[0]], s.endsAfter[1:]
	}
	if len(content) == 0 {
		return nil, errors.New("connection refused")
	}
	return &Blob{ReadCloser: io.NopCloser(bytes.NewReader(content)), Offset: offset}, nil
}

func newBlob(t *testing.T, size int) (content []byte, layer v1.Descriptor) {
	t.Helper()
	content = make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{}).Read(content) // it never fails
	digest, length, err := v1.SHA256(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return content, v1.Descriptor{Digest: digest, Size: length}
}

// openWith opens a new file with content.
func openWith(t *testing.T, content []byte) *os.File {
	t.Helper()
	name := filepath.Join(t.TempDir(), "layer")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}

func TestDownload(t *testing.T) {
	content, layer := newBlob(t, 2*durableStep+1000)
	damaged := bytes.Clone(content)
	damaged[durableStep+5]++
	for name, test := range map[string]struct {
		source  testSource
		before  []byte
		offsets []int64
		err     string
		empty   bool // the file is empty afterwards
	}{
		"complete":    {offsets: []int64{0}},
		"interrupted": {source: testSource{endsAfter: []int{100, durableStep}}, offsets: []int64{0, 100, durableStep + 100}},
		"ten interruptions": {
			source:  testSource{endsAfter: slices.Repeat([]int{3 << 20}, 10)},
			offsets: []int64{0, 3 << 20, 6 << 20, 9 << 20, 12 << 20, 15 << 20, 18 << 20, 21 << 20, 24 << 20, 27 << 20, 30 << 20},
		},
		"interruptions without data": {
			source: testSource{endsAfter: []int{1 << 20, 0, 0, 0, 0, 1 << 20, 0, 0, 0, 0, 1 << 20, 0, 0, 0, 0}},
			offsets: slices.Concat([]int64{0}, slices.Repeat([]int64{1 << 20}, 5), slices.Repeat([]int64{2 << 20}, 5),
				slices.Repeat([]int64{3 << 20}, 5)),
		},
		"resumed":       {before: content[:durableStep+70], offsets: []int64{durableStep}},
		"tail was lost": {before: damaged[:durableStep+70], offsets: []int64{durableStep}},
		"already there": {before: content},
		"no ranges": {
			source:  testSource{noRanges: true},
			before:  content[:durableStep],
			offsets: []int64{durableStep},
		},
		"another, longer": {before: append(bytes.Clone(content), 1), offsets: []int64{2 * durableStep}},
		"damaged":         {before: damaged, err: "has the digest sha256:", empty: true},
		"damaged at start": {
			before:  damaged[:2*durableStep],
			offsets: []int64{2 * durableStep},
			err:     "has the digest sha256:",
			empty:   true,
		},
		"unreachable": {
			source:  testSource{endsAfter: make([]int, maxFailures)},
			offsets: make([]int64, maxFailures),
			err:     "connection refused",
			empty:   true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.source.content = content
			file, done := openWith(t, test.before), int64(0)
			var err error
			synctest.Test(t, func(t *testing.T) { // the pauses between attempts take no time
				err = download(t.Context(), &test.source, layer, file, func(n, total int64) {
					if n <= done && !test.source.noRanges || total != layer.Size {
						t.Errorf("progress %d after %d of %d", n, done, total)
					}
					done = n
				})
			})
			if (err == nil) != (test.err == "") || (err != nil && !strings.Contains(err.Error(), test.err)) {
				t.Fatalf("download() = %v, want %q", err, test.err)
			}
			if diff := cmp.Diff(test.offsets, test.source.offsets); diff != "" {
				t.Errorf("offsets of the requests (-want +got):\n%s", diff)
			}
			got, readErr := os.ReadFile(file.Name())
			if readErr != nil || (test.err == "") != bytes.Equal(got, content) || test.empty && len(got) > 0 {
				t.Errorf("the file has %d bytes, %v", len(got), readErr)
			}
		})
	}
}

func TestDownloadEndsWithContext(t *testing.T) {
	content, layer := newBlob(t, 1000)
	ctx, cancel := context.WithCancel(t.Context())
	source := &testSource{content: content, endsAfter: []int{10}}
	err := download(ctx, source, layer, openWith(t, nil), func(int64, int64) { cancel() })
	if !errors.Is(err, context.Canceled) || len(source.offsets) != 1 {
		t.Errorf("download() = %v after %d requests", err, len(source.offsets))
	}
}

// link is a source whose transfers take time. Each attempt gets at most perAttempt bytes, in chunks.
type link struct {
	content    []byte
	chunk      int
	interval   time.Duration // between chunks
	perAttempt int           // 0: all
	noRanges   bool
	requests   int
}

func (l *link) Blob(ctx context.Context, _ v1.Descriptor, offset int64) (*Blob, error) {
	l.requests++
	if l.noRanges {
		offset = 0
	}
	left := l.content[offset:]
	if l.perAttempt > 0 {
		left = left[:min(l.perAttempt, len(left))]
	}
	return &Blob{ReadCloser: io.NopCloser(&linkBlob{link: l, ctx: ctx, left: left}), Offset: offset}, nil
}

// linkBlob is the response of a link to one request.
type linkBlob struct {
	*link
	ctx  context.Context
	left []byte
}

func (t *linkBlob) Read(p []byte) (int, error) {
	if len(t.left) == 0 {
		return 0, io.EOF
	}
	if err := wait.Sleep(t.ctx, t.interval); err != nil {
		return 0, err
	}
	n := copy(p, t.left[:min(t.chunk, len(t.left))])
	t.left = t.left[n:]
	return n, nil
}

// A download may take any time as long as it makes progress.
func TestDownloadRequiresProgress(t *testing.T) {
	const size = 4 << 20
	content, layer := newBlob(t, size)
	for name, test := range map[string]struct {
		link link
		err  string
	}{
		"slow link":                     {link: link{chunk: 16 << 10, interval: time.Second / 2}},
		"slow link, interrupted always": {link: link{chunk: 16 << 10, interval: time.Second / 2, perAttempt: 32 << 10}},
		"slowest rate":                  {link: link{chunk: minProgress, interval: stallTimeout - time.Second}},
		"a byte each second":            {link: link{chunk: 1, interval: time.Second}, err: errStalled.Error()},
		"a byte in each attempt":        {link: link{chunk: 1, perAttempt: 1}, err: "unexpected EOF"},
		"silent":                        {link: link{chunk: 1, interval: time.Hour}, err: errStalled.Error()},
		"no ranges, interrupted always": {
			link: link{chunk: 1 << 20, perAttempt: 2 << 20, noRanges: true},
			err:  "unexpected EOF",
		},
		"interrupted in the last progress": {link: link{chunk: 1 << 20, perAttempt: size - 1}},
	} {
		t.Run(name, func(t *testing.T) {
			test.link.content = content
			file := openWith(t, nil)
			synctest.Test(t, func(t *testing.T) {
				err := download(t.Context(), &test.link, layer, file, func(int64, int64) {})
				if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
					t.Errorf("download() = %v after %d requests, want %q", err, test.link.requests, test.err)
				}
				if err != nil && test.link.requests > 2*maxFailures {
					t.Errorf("%d requests without progress", test.link.requests)
				}
			})
		})
	}
}
