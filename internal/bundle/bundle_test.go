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

// text returns a file with this content.
func text(name, content string, cut bool) Piece {
	return Piece{Name: name, Source: "test", Get: func(context.Context) (Content, error) {
		return Content{Bytes: []byte(content), Cut: cut}, nil
	}}
}

func mask(text string) string { return strings.ReplaceAll(text, "secret", "***") }

// written writes a bundle and returns its content.
func written(t *testing.T, limits Limits, pieces ...Piece) (Manifest, map[string]string) {
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
func TestBundleIsBounded(t *testing.T) {
	manifest, got := written(t, Limits{Piece: 12, Total: 27, Time: time.Minute},
		text("whole", "one\nsecret\n", false),
		text("long", "first line\nsecond\nthird\n", false),
		text("one long line", "no end of this line", false),
		text("cut before", "ecret\nok\n", true),
		text("rest", "aaa\nbbb\nccc\n", false),
		text("no room", "dddd\n", false),
		text("small", "e\n", false),
	)
	want := map[string]string{"whole": "one\n***\n", "long": "third\n", "one long line": "", "cut before": "ok\n", "rest": "bbb\nccc\n", "small": "e\n"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	entries := []Entry{
		{Name: "whole", Source: "test", Bytes: 8, Masked: true},
		{Name: "long", Source: "test", Bytes: 6, Cut: true},
		{Name: "one long line", Source: "test", Cut: true},
		{Name: "cut before", Source: "test", Bytes: 3, Cut: true},
		{Name: "rest", Source: "test", Bytes: 8, Cut: true},
		{Name: "no room", Source: "test", Missing: "there was no room for it: a bundle has 27 bytes at most"},
		{Name: "small", Source: "test", Bytes: 2},
	}
	if diff := cmp.Diff(entries, manifest.Pieces); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if text := "6 pieces, 1 kB before compression, 4 of them cut; 1 are missing (manifest.json lists them); secrets are masked"; manifest.String() != text {
		t.Errorf("it says %q", manifest)
	}
}

// A file that cannot be read does not affect other files. Its error is noted without
// secrets.
func TestBundleGoesOnPastWhatIsMissing(t *testing.T) {
	refused := Piece{Name: "refused", Source: "a secret", Get: func(context.Context) (Content, error) { return Content{}, errors.New("no secret for you") }}
	manifest, got := written(t, Limits{Piece: 100, Total: 100, Time: time.Hour}, refused, text("a secret name", "x\n", false))
	entries := []Entry{
		{Name: "refused", Source: "a ***", Missing: "no *** for you"},
		{Name: "a *** name", Source: "test", Bytes: 2},
	}
	if diff := cmp.Diff(entries, manifest.Pieces); diff != "" || len(got) != 1 || got["a *** name"] != "x\n" {
		t.Errorf("%v (-want +got):\n%s", got, diff)
	}
}

// A file that hangs and ignores its timeout does not affect other files.
func TestBundleGoesOnPastWhatHangs(t *testing.T) {
	forever := make(chan struct{})
	defer close(forever)
	deaf := Piece{Name: "deaf", Source: "test", Get: func(context.Context) (Content, error) { <-forever; return Content{}, nil }}
	manifest, _ := written(t, Limits{Piece: 100, Total: 100, Time: 50 * time.Millisecond}, deaf, deaf)
	entry := Entry{Name: "deaf", Source: "test", Missing: "it was not there after 50ms"}
	if diff := cmp.Diff([]Entry{entry, entry}, manifest.Pieces); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Ctrl-C cancels the bundle.
func TestBundleIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	interrupting := Piece{Name: "a", Get: func(context.Context) (Content, error) { cancel(); return Content{}, nil }}
	never := Piece{Name: "b", Get: func(context.Context) (Content, error) { t.Error("it went on"); return Content{}, nil }}
	_, err := Write(ctx, io.Discard, Manifest{}, []Piece{interrupting, never}, mask, DefaultLimits())
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
