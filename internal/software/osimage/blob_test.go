// SPDX-License-Identifier: Apache-2.0

package osimage

import (
	"bytes"
	"io"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"

	"github.com/hcp-node-agent/hcp-node-agent/test/registrytest"
)

func TestBlob(t *testing.T) {
	server, image := registrytest.New(t, testPassword), newImage(t)
	client := newClient(trust(server))
	client.PullSecret = registrytest.PullSecret(server.Host, testPassword)
	opened, err := client.Open(t.Context(), server.Push(t, "release/os", image))
	if err != nil {
		t.Fatal(err)
	}
	layers, _ := image.Layers()
	digest, _ := layers[1].Digest()
	reader, err := layers[1].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, offset := range []int64{0, 1, int64(len(content)) - 1} {
		blob, err := opened.Blob(t.Context(), v1.Descriptor{Digest: digest, Size: int64(len(content))}, offset)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(blob)
		_ = blob.Close()
		if err != nil || blob.Offset != offset || !bytes.Equal(got, content[offset:]) {
			t.Errorf("Blob(%d) has %d bytes from %d on, %v", offset, len(got), blob.Offset, err)
		}
	}
	if _, err := opened.Blob(
		t.Context(), v1.Descriptor{Digest: v1.Hash{Algorithm: "sha256", Hex: "00"}, Size: 9}, 0,
	); err == nil {
		t.Error("Blob() of an unknown digest has no error")
	}
}

// Blobs are larger than the responses that are read into memory.
func TestBlobIsLarge(t *testing.T) {
	image, err := random.Image(maxResponse+1000, 1)
	if err != nil {
		t.Fatal(err)
	}
	server := registrytest.New(t, "")
	opened, err := newClient(trust(server)).Open(t.Context(), server.Push(t, "release/os", image))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := opened.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	blob, err := opened.Blob(t.Context(), manifest.Layers[0], 0)
	if err != nil {
		t.Fatal(err)
	}
	defer blob.Close()
	if n, err := io.Copy(io.Discard, blob); err != nil || n != manifest.Layers[0].Size {
		t.Errorf("%d of %d bytes, %v", n, manifest.Layers[0].Size, err)
	}
}
