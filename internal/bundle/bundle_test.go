// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// textFile returns a file with this content.
func textFile(name, content string, cut bool) File {
	return File{Name: name, Source: "test", Get: func(context.Context) (Content, error) {
		return Content{Bytes: []byte(content), Truncated: cut}, nil
	}}
}

func mask(text string) string { return strings.ReplaceAll(text, "secret", "***") }

// writeAndRead writes a bundle and returns its content.
func writeAndRead(t *testing.T, limits Limits, pieces ...File) (Manifest, map[string]string) {
	t.Helper()
	var file bytes.Buffer
	manifest, err := Write(t.Context(), &file, Manifest{Hostname: "a", Version: "1", Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}, pieces, mask, limits)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := gzip.NewReader(&file)
	if err != nil {
		t.Fatal(err)
	}
	contents := map[string]string{}
	for archive := tar.NewReader(plain); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(archive)
		if err != nil || header.Mode != 0o600 || !header.ModTime.Equal(manifest.Created) {
			t.Errorf("%+v, %v", header, err)
		}
		contents[header.Name] = string(content)
	}
	var listed Manifest
	if err := json.Unmarshal([]byte(contents[ManifestName]), &listed); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(manifest, listed); diff != "" {
		t.Errorf("the manifest in the bundle (-told +listed):\n%s", diff)
	}
	delete(contents, ManifestName)
	return manifest, contents
}

// Of a file that is too long, the last complete lines are kept, and the manifest notes it.
func TestBundleSizeIsLimited(t *testing.T) {
	manifest, got := writeAndRead(t, Limits{File: 12, Total: 27, Timeout: time.Minute},
		textFile("whole", "one\nsecret\n", false),
		textFile("long", "first line\nsecond\nthird\n", false),
		textFile("one long line", "no end of this line", false),
		textFile("cut before", "ecret\nok\n", true),
		textFile("rest", "aaa\nbbb\nccc\n", false),
		textFile("no room", "dddd\n", false),
		textFile("small", "e\n", false),
	)
	want := map[string]string{"whole": "one\n***\n", "long": "third\n", "one long line": "", "cut before": "ok\n", "rest": "bbb\nccc\n", "small": "e\n"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	entries := []Entry{
		{Name: "whole", Source: "test", Bytes: 8, Masked: true},
		{Name: "long", Source: "test", Bytes: 6, Truncated: true},
		{Name: "one long line", Source: "test", Truncated: true},
		{Name: "cut before", Source: "test", Bytes: 3, Truncated: true},
		{Name: "rest", Source: "test", Bytes: 8, Truncated: true},
		{Name: "no room", Source: "test", Missing: "excluded: the bundle is limited to 27 bytes"},
		{Name: "small", Source: "test", Bytes: 2},
	}
	if diff := cmp.Diff(entries, manifest.Files); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if text := "6 files, 1 kB before compression, 4 truncated, 1 missing (manifest.json lists all); secrets are masked"; manifest.String() != text {
		t.Errorf("it says %q", manifest)
	}
}

// A file that cannot be read does not affect other files. Its error is noted without
// secrets.
func TestBundleContinuesAfterMissingFile(t *testing.T) {
	refused := File{Name: "refused", Source: "a secret", Get: func(context.Context) (Content, error) { return Content{}, errors.New("no secret for you") }}
	manifest, got := writeAndRead(t, Limits{File: 100, Total: 100, Timeout: time.Hour}, refused, textFile("a secret name", "x\n", false))
	entries := []Entry{
		{Name: "refused", Source: "a ***", Missing: "no *** for you"},
		{Name: "a *** name", Source: "test", Bytes: 2},
	}
	if diff := cmp.Diff(entries, manifest.Files); diff != "" || len(got) != 1 || got["a *** name"] != "x\n" {
		t.Errorf("%v (-want +got):\n%s", got, diff)
	}
}

// A file that hangs and ignores its timeout does not affect other files.
func TestBundleContinuesAfterTimeout(t *testing.T) {
	forever := make(chan struct{})
	defer close(forever)
	blocked := File{Name: "deaf", Source: "test", Get: func(context.Context) (Content, error) { <-forever; return Content{}, nil }}
	manifest, _ := writeAndRead(t, Limits{File: 100, Total: 100, Timeout: 50 * time.Millisecond}, blocked, blocked)
	entry := Entry{Name: "deaf", Source: "test", Missing: "timed out after 50ms"}
	if diff := cmp.Diff([]Entry{entry, entry}, manifest.Files); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Ctrl-C cancels the bundle.
func TestBundleIsCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	interrupting := File{Name: "a", Get: func(context.Context) (Content, error) { cancel(); return Content{}, nil }}
	never := File{Name: "b", Get: func(context.Context) (Content, error) { t.Error("it went on"); return Content{}, nil }}
	_, err := Write(ctx, io.Discard, Manifest{}, []File{interrupting, never}, mask, DefaultLimits())
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
