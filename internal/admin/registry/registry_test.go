// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"io"
	"log"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
)

// The digest of the registry replaces a tag. Without it, every user with write access to the registry can replace the
// image.
func TestImageIsPinned(t *testing.T) {
	const digest = "@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0)))) // loopback needs no TLS
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	reference, err := name.ParseReference(host + "/admin:0.1.0")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(reference, empty.Image); err != nil {
		t.Fatal(err)
	}
	pushed, err := empty.Image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	for image, want := range map[string]struct{ image, event string }{
		host + "/admin:0.1.0":          {host + "/admin@" + pushed.String(), "is " + host + "/admin@" + pushed.String()},
		host + "/admin" + digest:       {host + "/admin" + digest, ""},
		host + "/absent:0.1.0":         {host + "/absent:0.1.0", "every user with write access to the registry"},
		host + "/admin:0.2.0" + digest: {host + "/admin:0.2.0" + digest, ""},
	} {
		recorded := &reporttest.Recorder{}
		pinned := Pin(t.Context(), image, report.Log{Sink: recorded})
		got := recorded.Text()
		if pinned != want.image || !strings.Contains(got, want.event) || (got == "") != (want.event == "") {
			t.Errorf("%s: %s; %q", image, pinned, got)
		}
	}
}
