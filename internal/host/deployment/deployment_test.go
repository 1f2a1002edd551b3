// SPDX-License-Identifier: Apache-2.0

package deployment

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/hostclass"
)

const (
	bootcOutput = `{"apiVersion": "org.containers.bootc/v1", "kind": "BootcHost", "metadata": {"name": "host"},
 "spec": {"image": {"image": "registry.example.com/worker:2", "transport": "registry"}, "bootOrder": "default"},
 "status": {
  "staged": {"image": {"image": {"image": "registry.example.com/worker:2", "transport": "registry"}, "version": "9.6.2",
    "timestamp": null, "imageDigest": "sha256:22222222222222222222", "architecture": "amd64"}, "cachedUpdate": null,
    "incompatible": false, "pinned": false, "store": "ostreeContainer",
    "ostree": {"stateroot": "default", "checksum": "bbbb", "deploySerial": 1}},
  "booted": {"image": {"image": {"image": "registry.example.com/worker:1", "transport": "registry"}, "version": null,
    "timestamp": null, "imageDigest": "sha256:11111111111111111111", "architecture": "amd64"}, "cachedUpdate": null,
    "incompatible": true, "pinned": true, "store": "ostreeContainer",
    "ostree": {"stateroot": "default", "checksum": "aaaa", "deploySerial": 0}},
  "rollback": null, "rollbackQueued": false, "type": "bootcHost"}}`

	rpmOSTreeOutput = `{"deployments": [
 {"booted": false, "staged": false, "osname": "rhcos", "checksum": "bbbb", "pinned": true,
  "requested-packages": [], "requested-local-packages": [], "requested-base-removals": [],
  "requested-base-local-replacements": [], "version": "417.94.202410",
  "container-image-reference": "ostree-unverified-registry:quay.io/openshift/os@sha256:1111",
  "container-image-reference-digest": "sha256:1111"},
 {"booted": true, "staged": false, "osname": "rhcos", "checksum": "aaaa", "pinned": false,
  "requested-packages": ["usbguard"], "requested-base-removals": ["kernel"],
  "container-image-reference": "ostree-image-signed:docker://quay.io/openshift/os:latest",
  "container-image-reference-digest": "sha256:2222"},
 {"booted": false, "staged": false, "osname": "other", "checksum": "cccc"}
], "transaction": null, "cached-update": null}`
)

func TestParse(t *testing.T) {
	for name, test := range map[string]struct {
		parse  func([]byte) (Status, error)
		output string
		want   Status
		next   string // its ID
	}{
		"bootc, an update is staged": {
			parseBootc, bootcOutput, Status{
				Booted: Deployment{
					Image: "registry.example.com/worker:1", Digest: "sha256:11111111111111111111", Checksum: "aaaa",
					Pinned: true, Modified: true,
				},
				Staged: &Deployment{
					Image: "registry.example.com/worker:2", Digest: "sha256:22222222222222222222", Version: "9.6.2",
					Checksum: "bbbb", Serial: 1,
				},
			}, "bbbb.1",
		},
		"bootc, not of an image": {
			parseBootc, `{"apiVersion": "org.containers.bootc/v1", "kind": "BootcHost", "status": {"staged": null,
 "booted": {"image": null, "incompatible": false, "pinned": false, "ostree": {"checksum": "aaaa"}}, "rollback": null}}`,
			Status{Booted: Deployment{Checksum: "aaaa"}},
			"",
		},
		"rpm-ostree, a rollback is queued": {
			parseRPMOSTree, rpmOSTreeOutput, Status{
				Booted: Deployment{
					Image: "quay.io/openshift/os:latest", Digest: "sha256:2222", Checksum: "aaaa", Modified: true,
					Packages: []string{"usbguard", "kernel"},
				},
				Rollback: &Deployment{
					Image: "quay.io/openshift/os@sha256:1111", Digest: "sha256:1111", Version: "417.94.202410",
					Checksum: "bbbb", Pinned: true,
				},
				RollbackQueued: true,
			}, "bbbb.0",
		},
		"rpm-ostree, an update is staged": {
			parseRPMOSTree, `{"deployments": [{"staged": true, "osname": "rhcos", "checksum": "aaaa", "serial": 1},
 {"booted": true, "osname": "rhcos", "checksum": "aaaa"}, {"osname": "rhcos", "checksum": "cccc"}]}`,
			Status{
				Booted: Deployment{Checksum: "aaaa"}, Staged: &Deployment{Checksum: "aaaa", Serial: 1},
				Rollback: &Deployment{Checksum: "cccc"},
			},
			"aaaa.1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := test.parse([]byte(test.output))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			next := ""
			if d := got.Next(); d != nil {
				next = d.ID()
			}
			if next != test.next {
				t.Errorf("boots next: %q, want %q", next, test.next)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		parse  func([]byte) (Status, error)
		output string
		want   error
	}{
		"another version":     {parseBootc, `{"apiVersion": "org.containers.bootc/v2", "kind": "BootcHost"}`, ErrFormat},
		"no JSON":             {parseBootc, `note: v1`, ErrFormat},
		"rpm-ostree, no JSON": {parseRPMOSTree, `State: idle`, ErrFormat},
		"composefs backend": {
			parseBootc, `{"apiVersion": "org.containers.bootc/v1", "kind": "BootcHost",
 "status": {"booted": {"image": null, "ostree": null, "composefs": {"verity": "0123"}}}}`, ErrNoOSTree,
		},
		"nothing booted": {parseRPMOSTree, `{"deployments": [{"osname": "rhcos"}]}`, ErrNoOSTree},
	} {
		if _, err := test.parse([]byte(test.output)); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

// bootc prints the deployments of a bootc host, and rpm-ostree those of RHEL CoreOS, although it has both programs.
func TestRead(t *testing.T) {
	bin := t.TempDir()
	for name, output := range map[string]string{"bootc": bootcOutput, "rpm-ostree": rpmOSTreeOutput} {
		script := "#!/bin/sh\ncat <<'END'\n" + output + "\nEND\n"
		err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o700) //nolint:gosec // must be executable
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	for class, want := range map[hostclass.Class]string{
		hostclass.PackageMode: "", hostclass.Bootc: "sha256:11111111111111111111", hostclass.CoreOS: "sha256:2222",
	} {
		got, err := Read(t.Context(), class)
		if err != nil {
			t.Fatal(err)
		}
		digest := ""
		if got != nil {
			digest = got.Booted.Digest
		}
		if digest != want {
			t.Errorf("%s: booted %q, want %q", class, digest, want)
		}
	}
}

func TestHasOverlay(t *testing.T) {
	mounts := hostfs.ParseMounts(`23 1 252:2 /ostree/deploy/default/deploy/aaaa.0 / rw,relatime shared:1 - ext4 /dev/vda rw
24 23 252:2 /ostree/deploy/default/deploy/aaaa.0/etc /etc rw,relatime shared:2 - ext4 /dev/vda rw
25 23 0:40 / /usr ro,relatime shared:3 - overlay overlay rw,lowerdir=usr,upperdir=/var/tmp/ostree-unlock-ovl.1/upper
`)
	for directory, want := range map[string]bool{"/usr": true, "/etc": false, "/var": false} {
		if got := hasOverlay(mounts, directory); got != want {
			t.Errorf("%s: %t, want %t", directory, got, want)
		}
	}
}

func TestDescribe(t *testing.T) {
	booted := Deployment{Digest: "sha256:1111", Version: "9.6.1", Checksum: "aaaa"}
	for _, test := range []struct {
		next Deployment
		want string
	}{
		{Deployment{Digest: "sha256:1111", Checksum: "bbbb"}, "the same image with other kernel arguments or packages"},
		{Deployment{Digest: "sha256:2222", Version: "9.6.2"}, "9.6.2, sha256:2222"},
		{Deployment{Checksum: "bbbb"}, "OSTree commit bbbb"},
	} {
		if got := test.next.Describe(booted); got != test.want {
			t.Errorf("%+v: %q, want %q", test.next, got, test.want)
		}
	}
}

func TestPullSpec(t *testing.T) {
	for image, want := range map[string]string{
		"":                             "",
		"registry:5000/rhel/bootc":     "registry:5000/rhel/bootc@sha256:1",
		"registry:5000/rhel/bootc:9.6": "registry:5000/rhel/bootc@sha256:1",
		"registry/bootc@sha256:2":      "registry/bootc@sha256:2", // of an index
	} {
		d := Deployment{Image: image, Digest: "sha256:1"}
		if image == "" {
			d.Digest = ""
		}
		if got := d.PullSpec(); got != want {
			t.Errorf("%q: %q, want %q", image, got, want)
		}
	}
}
