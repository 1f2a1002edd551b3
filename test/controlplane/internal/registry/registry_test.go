// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/registry"
)

const host = "registry.demo.example.com:5000"

func start(t *testing.T) (*registry.Registry, string) {
	t.Helper()
	r := registry.New(host, log.New(io.Discard, "", 0))
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- r.Serve(listener) }()
	t.Cleanup(func() {
		r.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return r, listener.Addr().String()
}

func push(t *testing.T, content string) (r *registry.Registry, address, spec string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	r, address = start(t)
	spec, err := r.Push(address, "release/images", registry.Image{Binary: program, Path: "/usr/bin/pod"})
	if err != nil {
		t.Fatal(err)
	}
	return r, address, spec
}

func TestImageIsPulledWithThePullSecret(t *testing.T) {
	r, address, spec := push(t, "the program")
	secret, err := r.PullSecret()
	if err != nil {
		t.Fatal(err)
	}
	var auths struct {
		Auths map[string]struct{ Auth string }
	}
	if err := json.Unmarshal([]byte(secret), &auths); err != nil {
		t.Fatal(err)
	}
	login, err := base64.StdEncoding.DecodeString(auths.Auths[host].Auth)
	if err != nil {
		t.Fatal(err)
	}
	username, password, _ := strings.Cut(string(login), ":")
	ref, err := name.ParseReference(strings.Replace(spec, host, address, 1), name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	image, err := remote.Image(ref, remote.WithAuth(&authn.Basic{Username: username, Password: password}))
	if err != nil {
		t.Fatal(err)
	}
	if names := layerFiles(t, image); !slices.Contains(names, "usr/bin/pod") || !slices.Contains(names, "usr/bin/") {
		t.Errorf("the layer holds %v", names)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if len(config.Config.Entrypoint) != 1 || config.Config.Entrypoint[0] != "/usr/bin/pod" || config.OS != "linux" {
		t.Errorf("config is %+v", config)
	}
	if _, err := remote.Image(ref); err == nil {
		t.Error("the image was given without a pull secret")
	}
	pull := func() error {
		_, err := remote.Image(ref, remote.WithAuth(&authn.Basic{Username: username, Password: password}))
		return err
	}
	if r.RotatePassword(); pull() == nil {
		t.Error("the image was given with an old pull secret")
	}
	if r.ResetPassword(); pull() != nil {
		t.Error("the image was refused with the first pull secret")
	}
}

// layerFiles reads the single uncompressed layer as a runtime does: its bytes must match the
// config's diff ID.
func layerFiles(t *testing.T, image v1.Image) []string {
	t.Helper()
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	raw, err := layers[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	content, err := io.ReadAll(raw)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("sha256:%x", sha256.Sum256(content)); got != config.RootFS.DiffIDs[0].String() {
		t.Errorf("the layer is %s, its diff ID %s", got, config.RootFS.DiffIDs[0])
	}
	var names []string
	for archive := tar.NewReader(bytes.NewReader(content)); ; {
		header, err := archive.Next()
		if err == io.EOF {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, header.Name)
	}
}

func TestChallengeIsBasic(t *testing.T) {
	_, address := start(t)
	response, err := http.Get("http://" + address + "/v2/")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusUnauthorized ||
		!strings.HasPrefix(response.Header.Get("WWW-Authenticate"), "Basic ") {
		t.Errorf("got %s %v", response.Status, response.Header)
	}
}

func TestDigestDependsOnlyOnBinary(t *testing.T) {
	_, _, one := push(t, "the program")
	_, _, same := push(t, "the program")
	_, _, other := push(t, "another program")
	if one != same || one == other {
		t.Errorf("pushed %s, again %s, another %s", one, same, other)
	}
}
