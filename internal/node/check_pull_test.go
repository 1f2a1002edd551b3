// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// fakeRegistry implements the part of the runtime's interface that pulls an image.
// Its registry rejects requests as configured.
type fakeRegistry struct {
	cri.UnimplementedImageServiceServer
	refuses error
	pulled  []string
}

func (r *fakeRegistry) PullImage(_ context.Context, request *cri.PullImageRequest) (*cri.PullImageResponse, error) {
	r.pulled = append(r.pulled, request.GetImage().GetImage())
	return &cri.PullImageResponse{ImageRef: request.GetImage().GetImage()}, r.refuses
}

// A pull secret that the registry no longer accepts is detected before a new
// pod needs it.
func TestCheckPullDetectsOutdatedPullSecret(t *testing.T) {
	const image = "quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:1234"
	for name, test := range map[string]struct {
		refuses error
		want    string
		remedy  string // its prefix
	}{
		"accepted": {},
		"stale": {
			refuses: errors.New("initializing source docker://" + image +
				": reading manifest sha256:1234 in quay.io/x: unauthorized: access to the requested resource is not " +
				"authorized"),
			want:   "image " + image + " cannot be pulled: quay.io rejects this node's pull secret, or has no such image for it",
			remedy: "crictl pull " + image,
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			h := Host{Socket: filepath.Join(dir, "crio.sock"), PullSecret: filepath.Join(dir, "config.json")}
			if err := os.WriteFile(h.PullSecret, []byte(`{"auths":{"quay.io":{"auth":"c2VjcmV0"}}}`),
				0o600); err != nil {
				t.Fatal(err)
			}
			listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", h.Socket)
			if err != nil {
				t.Fatal(err)
			}
			service := &fakeRegistry{refuses: test.refuses}
			server := grpc.NewServer()
			cri.RegisterImageServiceServer(server, service)
			go func() { _ = server.Serve(listener) }() // ends with Stop
			defer server.Stop()
			found, err := h.CheckPull(t.Context(), image)
			if err != nil || len(service.pulled) != 1 || service.pulled[0] != image {
				t.Fatalf("pulled %q, %v", service.pulled, err)
			}
			if test.want == "" {
				if len(found) > 0 {
					t.Errorf("found %+v", found)
				}
				return
			}
			if len(found) != 1 || found[0].Severity != report.SeverityWarning || found[0].Message != test.want ||
				!strings.HasPrefix(string(found[0].Remedy), test.remedy) || found[0].Subject != "pulling images" {
				t.Errorf("found %+v", found)
			}
		})
	}
}

// A check that CRI-O or the deadline interrupts has no finding about the pull
// secret.
func TestCheckPullInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	found, err := Host{Socket: filepath.Join(t.TempDir(), "crio.sock")}.CheckPull(ctx, "quay.io/a/b:1")
	if !errors.Is(err, context.Canceled) || len(found) > 0 {
		t.Errorf("found %+v, %v", found, err)
	}
}
