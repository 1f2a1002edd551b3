// SPDX-License-Identifier: Apache-2.0

package osimage

import (
	"archive/tar"
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
)

const pullSpec = "registry.example.com/os@sha256:0"

// newOSImage returns an image with labels and a last layer that contains the files.
func newOSImage(t *testing.T, labels, files map[string]string) v1.Image {
	t.Helper()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for name, content := range files {
		if err := w.WriteHeader(
			&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(content))},
		); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	layer, err := tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil },
	)
	if err != nil {
		t.Fatal(err)
	}
	image, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{Architecture: "arm64", Config: v1.Config{Labels: labels}})
	if err != nil {
		t.Fatal(err)
	}
	if image, err = mutate.AppendLayers(image, layer); err != nil {
		t.Fatal(err)
	}
	return image
}

// The list of scripts/generate-metadata in openshift/os.
const metadata = `{"rpmdb.pkglist": [` +
	`["NetworkManager-ovs", "1", "1.52.0", "3.el9_6", "x86_64"], ["bash", "0", "5.1.8", "9.el9", "x86_64"], ` +
	`["cri-o", "0", "1.32.4", "2.rhaos4.19.git.el9", "x86_64"], ` +
	`["openshift-kubelet", "0", "4.19.0", "202506.p0.el9", "x86_64"], ` +
	`["openvswitch3.5", "0", "3.5.0", "20.el9fdp", "x86_64"], ["redhat-release", "0", "9.6", "0.1.el9", "x86_64"]]}`

var metadataLayer = map[string]string{metadataLabel: "true", versionLabel: "9.6.20250523-0"}

func TestRead(t *testing.T) {
	for name, test := range map[string]struct {
		labels, files map[string]string
		want          software.Contents
		err           string
	}{
		"4.18": {
			labels: map[string]string{versionLabel: "418.94.202501221327-0"},
			want:   software.Contents{Release: software.Release{Major: 4, Minor: 18}, RHEL: "9.4"},
		},
		"4.9": {
			labels: map[string]string{versionLabel: "49.84.202110081407-0"},
			want:   software.Contents{Release: software.Release{Major: 4, Minor: 9}, RHEL: "8.4"},
		},
		"4.19": {
			labels: metadataLayer,
			files:  map[string]string{metadataPath: metadata},
			want: software.Contents{Release: software.Release{Major: 4, Minor: 19}, RHEL: "9.6", Packages: map[string]string{
				"NetworkManager-ovs": "1.52.0-3.el9_6",
				"cri-o":              "1.32.4-2.rhaos4.19.git.el9",
				"openshift-kubelet":  "4.19.0-202506.p0.el9",
				"openvswitch3.5":     "3.5.0-20.el9fdp",
			}},
		},
		"another image": {
			labels: map[string]string{versionLabel: "v1.2.3"},
			err:    `the version label "v1.2.3" is not that of RHEL CoreOS`,
		},
		"no labels": {err: "is not that of RHEL CoreOS"},
		"no list": {
			labels: metadataLayer,
			files:  map[string]string{"etc/motd": ""},
			err:    "the layer does not contain " + metadataPath,
		},
		"damaged list": {
			labels: metadataLayer,
			files:  map[string]string{metadataPath: `{"rpmdb.pkglist": 1}`},
			err:    "parsing " + metadataPath,
		},
		"no kubelet": {
			labels: metadataLayer,
			files:  map[string]string{metadataPath: `{}`},
			err:    "contains no openshift-kubelet",
		},
		"too large": {
			labels: metadataLayer,
			files:  map[string]string{"a": strings.Repeat("0", maxMetadata)},
			err:    "the layer is larger than",
		},
		"too large after": {
			labels: metadataLayer,
			files:  map[string]string{metadataPath: metadata + strings.Repeat(" ", maxMetadata)},
			err:    "the layer is larger than",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Read(pullSpec, newOSImage(t, test.labels, test.files))
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) || !strings.Contains(err.Error(), pullSpec) {
					t.Fatalf("Read() = %v, want %q", err, test.err)
				}
				return
			}
			test.want.Image, test.want.Arch = pullSpec, "arm64"
			if diff := cmp.Diff(&test.want, got); err != nil || diff != "" {
				t.Errorf("Read(): %v\n%s", err, diff)
			}
		})
	}
}

// A registry that serves another metadata layer than the manifest names is not believed.
func TestReadVerifiesDigest(t *testing.T) {
	forged, err := newOSImage(
		t, metadataLayer, map[string]string{metadataPath: strings.ReplaceAll(metadata, "4.19", "4.20")},
	).Layers()
	if err != nil {
		t.Fatal(err)
	}
	image := newOSImage(t, metadataLayer, map[string]string{metadataPath: metadata})
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	digest, _ := layers[0].Digest()
	images := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, digest.String()) {
			images.ServeHTTP(w, r)
			return
		}
		content, err := forged[0].Compressed()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.Copy(w, content) // the client sees a failure
	}))
	t.Cleanup(server.Close)
	reference, err := name.ParseReference(strings.TrimPrefix(server.URL, "http://") + "/os:test")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(reference, image); err != nil {
		t.Fatal(err)
	}
	served, err := remote.Image(reference)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Read(pullSpec, served); err == nil || !strings.Contains(err.Error(), "error verifying") {
		t.Errorf("Read() = %v, %v, want a failed verification", got, err)
	}
}
