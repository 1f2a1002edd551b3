// SPDX-License-Identifier: Apache-2.0

package osimage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

const (
	endless   = 64 << 20 // bytes of an endless response, which a client must not read to its end
	emptyJSON = `{"architecture":"amd64","os":"linux","rootfs":{"type":"layers","diff_ids":[]}}`
)

// newHostile starts a registry with one manifest. It responds to /v2/ with challenge, and to requests
// for other paths with serve. It counts the bytes that a client accepts.
func newHostile(t *testing.T, manifest []byte, challenge string, serve http.HandlerFunc) (
	*httptest.Server, *atomic.Int64,
) {
	t.Helper()
	var sent atomic.Int64
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/v2/" && challenge != "":
			w.Header().Set("WWW-Authenticate", strings.ReplaceAll(challenge, "SERVER", "https://"+r.Host))
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/v2/":
		case strings.Contains(r.URL.Path, "/manifests/") && manifest != nil:
			w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
			_, _ = w.Write(manifest)
		default:
			serve(&countingWriter{w, &sent}, r)
		}
	}))
	t.Cleanup(server.Close)
	return server, &sent
}

type countingWriter struct {
	http.ResponseWriter
	sent *atomic.Int64
}

func (w *countingWriter) Write(content []byte) (int, error) {
	n, err := w.ResponseWriter.Write(content)
	w.sent.Add(int64(n))
	return n, err
}

func sendEndless(w http.ResponseWriter, _ *http.Request) {
	for content := make([]byte, 1<<20); ; {
		if _, err := w.Write(content); err != nil {
			return
		}
		if counted := w.(*countingWriter); counted.sent.Load() >= endless {
			return
		}
	}
}

// manifestOf returns a manifest without layers whose config has the size, and its pull spec.
func manifestOf(size int64, config string) []byte {
	digest, _, _ := v1.SHA256(strings.NewReader(config)) // it never fails
	return fmt.Appendf(nil, `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",`+
		`"config":{"mediaType":"application/vnd.oci.image.config.v1+json","size":%d,"digest":"%s"},"layers":[]}`,
		size, digest)
}

// A registry can send more than the digests permit, and the payload can name an image of any size.
func TestOpenLimitsMemory(t *testing.T) {
	for name, test := range map[string]struct {
		manifest  []byte // nil: endless
		challenge string
		serve     http.HandlerFunc
		want      string // "": success
	}{
		"good": {
			manifest: manifestOf(int64(len(emptyJSON)), emptyJSON),
			serve:    func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, emptyJSON) },
		},
		"endless manifest": {serve: sendEndless, want: errLarge.Error()},
		"large config":     {manifest: manifestOf(endless, "large"), serve: sendEndless, want: errLarge.Error()},
		"endless token": {
			challenge: `Bearer realm="SERVER/token",service="s"`,
			serve:     sendEndless,
			want:      errLarge.Error(),
		},
		"endless error": {
			manifest: manifestOf(1, "x"), want: errLarge.Error(),
			serve: func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(http.StatusNotFound)
				sendEndless(w, r)
			},
		},
		"wrong digest of the config": {
			manifest: manifestOf(int64(len(emptyJSON)), "other"), want: "error verifying sha256 checksum",
			serve: func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, emptyJSON) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			server, sent := newHostile(t, test.manifest, test.challenge, test.serve)
			client := newClient(trust())
			client.Roots.AddCert(server.Certificate())
			digest, _, _ := v1.SHA256(bytes.NewReader(test.manifest)) // it never fails
			image, err := client.Open(t.Context(), strings.TrimPrefix(server.URL, "https://")+"/os@"+digest.String())
			if err == nil {
				_, err = image.ConfigFile()
			}
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Fatalf("Open() and ConfigFile() = %v, want %q", err, test.want)
			}
			if err != nil && report.RemedyOf(err) == "" {
				t.Errorf("no remedy for %v", err)
			}
			if sent.Load() >= endless {
				t.Errorf("the client has read all %d bytes", sent.Load())
			}
		})
	}
}

// trickle sends a byte a second until its request ends.
type trickle struct{ ctx context.Context }

func (s *trickle) Close() error { return nil }

func (s *trickle) Read(p []byte) (int, error) {
	select {
	case <-s.ctx.Done():
		return 0, s.ctx.Err()
	case <-time.After(time.Second):
		return copy(p, " "), nil
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func sendTrickle(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: &trickle{r.Context()}, Request: r}, nil
}

func TestResponsesAreLimitedInTime(t *testing.T) {
	for name, next := range map[string]roundTripper{
		"slow": sendTrickle,
		"silent": func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			response, err := (&http.Client{Transport: limitedTransport{next}}).Get("https://registry.example.com/v2/")
			if err == nil {
				_, err = io.ReadAll(response.Body)
				_ = response.Body.Close()
			}
			if !errors.Is(err, errSlow) || time.Since(began) != maxResponseTimeout {
				t.Errorf("%s: %v after %s", name, err, time.Since(began))
			}
		})
	}
}

// The reader of a blob decides whether it is too slow.
func TestRemoveLimitsEndsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		response, err := limitedTransport{roundTripper(sendTrickle)}.RoundTrip(newRequest(t))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		response.Body.(*limitedBody).removeLimits()
		seconds := int64(2 * maxResponseTimeout / time.Second)
		if n, err := io.CopyN(io.Discard, response.Body, seconds); err != nil {
			t.Errorf("%d bytes, %v", n, err)
		}
	})
}

func newRequest(t *testing.T) *http.Request {
	t.Helper()
	request, err := http.NewRequestWithContext(
		t.Context(), http.MethodGet, "https://registry.example.com/v2/", http.NoBody,
	)
	if err != nil {
		t.Fatal(err)
	}
	return request
}
