// SPDX-License-Identifier: Apache-2.0

package osimage

import (
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/deployment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/registrytest"
)

// labelImage returns the image with an architecture and labels.
func labelImage(t *testing.T, image v1.Image, arch string, labels map[string]string) v1.Image {
	t.Helper()
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Config.Labels = "linux", arch, labels
	labeled, err := mutate.ConfigFile(image, config)
	if err != nil {
		t.Fatal(err)
	}
	return labeled
}

func TestCheckBootable(t *testing.T) {
	server := registrytest.New(t, "")
	bootable := map[string]string{"containers.bootc": "1"}
	plenty := deployment.Storage{Size: 1e9, Free: 1e9, BootFree: 1e9, LargestKernel: 1e8}
	for name, test := range map[string]struct {
		arch    string
		labels  map[string]string
		storage deployment.Storage
		want    []string // parts of the messages
	}{
		"bootc":  {"amd64", bootable, plenty, nil},
		"ostree": {"amd64", map[string]string{"ostree.bootable": ""}, plenty, nil},
		"other architecture": {
			"arm64", bootable, plenty, []string{"is for architecture arm64, but this host is amd64"},
		},
		"no label": {
			"amd64",
			map[string]string{"version": "9.6"},
			plenty,
			[]string{"it has neither the label containers.bootc nor ostree.bootable"},
		},
		"all": {
			"arm64", nil,
			deployment.Storage{Size: 1, Free: 1, LargestKernel: 1e8},
			[]string{"is for architecture", "has neither the label", "file system of /sysroot", "file system of /boot"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			image := labelImage(t, newImage(t), test.arch, test.labels)
			opened, err := newClient(trust(server)).Open(t.Context(), server.Push(t, "os", image))
			if err != nil {
				t.Fatal(err)
			}
			before := server.Requests.Load()
			found, err := CheckBootable(opened, "amd64", test.storage)
			if err != nil {
				t.Fatal(err)
			}
			checkRefusals(t, found, test.want)
			if requests := server.Requests.Load() - before; requests > 1 {
				t.Errorf("%d requests, want only that for the config", requests)
			}
		})
	}
}

func TestCheckBootableReportsRegistry(t *testing.T) {
	server := registrytest.New(t, "")
	opened, err := newClient(trust(server)).Open(t.Context(), server.Push(t, "os", newImage(t)))
	if err != nil {
		t.Fatal(err)
	}
	server.Close()
	if _, err := CheckBootable(opened, "amd64", deployment.Storage{}); err == nil || report.RemedyOf(err) == "" {
		t.Errorf("error %v, remedy %q", err, report.RemedyOf(err))
	}
}

func checkRefusals(t *testing.T, found []report.Finding, want []string) {
	t.Helper()
	if len(found) != len(want) {
		t.Fatalf("findings %+v, want %q", found, want)
	}
	for i, finding := range found {
		if !strings.Contains(finding.Message, want[i]) || !finding.RefusesJoin || finding.Remedy == "" {
			t.Errorf("finding %+v, want %q", finding, want[i])
		}
	}
}

func TestCheckStorage(t *testing.T) {
	layer := func(hex string, size int64) v1.Descriptor {
		return v1.Descriptor{Digest: v1.Hash{Algorithm: "sha256", Hex: hex}, Size: size}
	}
	manifest := &v1.Manifest{Layers: []v1.Descriptor{layer("11", 900e6), layer("22", 100e6)}}
	for name, test := range map[string]struct {
		storage deployment.Storage
		want    []string
	}{
		"no layer is stored": {
			deployment.Storage{Size: 100e9, Free: 5e9},
			[]string{"image os requires up to 3000 MB on the file system of /sysroot, which has 2000 MB free for it"},
		},
		"enough for all layers": {deployment.Storage{Size: 100e9, Free: 6e9}, nil},
		"one layer is stored": {
			deployment.Storage{Layers: map[string]bool{"sha256:11": true}, Size: 10e9, Free: 600e6}, nil,
		},
		"one layer is stored, and no space": {
			deployment.Storage{Layers: map[string]bool{"sha256:11": true}, Size: 10e9, Free: 599e6},
			[]string{"requires up to 300 MB on the file system of /sysroot, which has 299 MB free for it"},
		},
		"all layers are stored": {
			deployment.Storage{Layers: map[string]bool{"sha256:11": true, "sha256:22": true}, Size: 10e9}, nil,
		},
		"full /boot": {
			deployment.Storage{Size: 10e9, Free: 10e9, BootFree: 100e6, LargestKernel: 100e6},
			[]string{"requires about 125 MB on the file system of /boot, which has 100 MB free for it"},
		},
		"ostree can remove a kernel": {
			deployment.Storage{Size: 10e9, Free: 10e9, BootFree: 30e6, LargestKernel: 100e6, OtherKernels: 95e6}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) { checkRefusals(t, checkStorage("os", manifest, test.storage), test.want) })
	}
}
