// SPDX-License-Identifier: Apache-2.0

package ostree

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

var (
	commitA, commitB = strings.Repeat("a", 64), strings.Repeat("b", 64)
	// status is the output of ostree 2025.2 with a staged deployment and a rollback deployment.
	status = "  default " + commitB + ".1 (staged)\n    origin: <unknown origin type>\n" +
		"* default " + commitA + ".0\n    Version: 9.6\n" +
		"  default " + commitB + ".0 (rollback)\n    Pinned: yes\n"
)

func TestRolesAndMergeDeployment(t *testing.T) {
	r := assignRoles(parseStatus(status))
	if r.staged == nil || r.staged.serial != 1 || r.booted.checksum != commitA || r.rollback == nil || r.rollbackQueued() {
		t.Errorf("got %+v", r)
	}
	if r.merge().name() != commitB+".1" {
		t.Errorf("a new deployment is merged from %s, want the staged deployment", r.merge().name())
	}
	queued := assignRoles(parseStatus("  default " + commitB + ".0\n* default " + commitA + ".0\n"))
	if !queued.rollbackQueued() || queued.merge().name() != commitB+".0" {
		t.Errorf("no rollback is queued: %+v", queued)
	}
}

func TestBootcStatus(t *testing.T) {
	image := keyfile{"origin": {containerKey: originPrefix + "quay.io/a@sha256:1"}}
	metadata := func(string) (imageMetadata, error) {
		return imageMetadata{digest: "sha256:1", config: v1.ConfigFile{Architecture: "amd64"}}, nil
	}
	for name, c := range map[string]struct {
		origin keyfile
		want   string
	}{
		"image": {
			image,
			`{"image":{"image":"quay.io/a@sha256:1","transport":"registry"},"bootOrder":"default"} "bootcHost" false`,
		},
		"commit": {keyfile{"origin": {"refspec": commitA}}, `{"image":null,"bootOrder":"default"} null false`},
		"packages": {
			keyfile{"origin": image["origin"], "packages": {"requested": "vim;"}},
			`{"image":null,"bootOrder":"default"} null true`,
		},
	} {
		h, err := hostOf(roles{booted: deployment{stateroot: "default", checksum: commitA, origin: c.origin}}, metadata)
		if err != nil {
			t.Fatal(err)
		}
		spec, _ := json.Marshal(h.Spec)
		kind, _ := json.Marshal(h.Status.Type)
		incompatible, _ := json.Marshal(h.Status.Booted.Incompatible)
		if got := strings.Join([]string{string(spec), string(kind), string(incompatible)}, " "); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

func TestKernelArguments(t *testing.T) {
	args := []string{"root=/dev/vda2", "rw", "console=tty0", "console=ttyS0"}
	for name, c := range map[string]struct {
		change kargsChange
		want   string
	}{
		"append":             {kargsChange{appends: stringList{"rw"}}, "root=/dev/vda2 rw console=tty0 console=ttyS0 rw"},
		"append if missing":  {kargsChange{appendsIfMissing: stringList{"a=1", "rw"}}, "root=/dev/vda2 rw console=tty0 console=ttyS0 a=1"},
		"delete value":       {kargsChange{deletes: stringList{"console=tty0"}}, "root=/dev/vda2 rw console=ttyS0"},
		"delete if present":  {kargsChange{deletesIfPresent: stringList{"rw", "b"}}, "root=/dev/vda2 console=tty0 console=ttyS0"},
		"replace":            {kargsChange{replaces: stringList{"console=tty0=tty1"}}, "root=/dev/vda2 rw console=tty1 console=ttyS0"},
		"delete and append":  {kargsChange{deletes: stringList{"rw"}, appends: stringList{"ro"}}, "root=/dev/vda2 console=tty0 console=ttyS0 ro"},
		"missing is refused": {kargsChange{deletes: stringList{"b"}}, "No karg 'b' found"},
		"unchanged":          {kargsChange{appendsIfMissing: stringList{"rw"}}, errUnchanged.Error()},
	} {
		changed, err := c.change.apply(args)
		got := strings.Join(changed, " ")
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestOriginIsWrittenWithoutPins(t *testing.T) {
	origin := parseKeyfile("[origin]\n" + containerKey + "=x:y=z\n\n[libostree-transient]\npinned=true\n")
	if diff := cmp.Diff("[origin]\n"+containerKey+"=x:y=z\n", origin.String()); diff != "" {
		t.Error(diff)
	}
}

func TestLayerBecomesTree(t *testing.T) {
	layer, err := newLayer(map[string]string{"etc/a": "1", "usr/bin/b": "2", "var/c": "3"})
	if err != nil {
		t.Fatal(err)
	}
	content, err := layer.Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := toTree(content, &out); err != nil {
		t.Fatal(err)
	}
	var names []string
	tree := tar.NewReader(&out)
	for {
		header, err := tree.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, header.Name)
	}
	if diff := cmp.Diff([]string{"usr/etc/a", "usr/bin/b"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestMostSpecificCredentials(t *testing.T) {
	content := []byte(`{"auths":{"quay.io":{"username":"host"},"quay.io/a/b":{"username":"repository"}}}`)
	for repository, want := range map[string]string{"quay.io/a/b": "repository", "quay.io/a/c": "host", "ghcr.io/a": ""} {
		auth, err := parseAuth(content, repository)
		if err != nil {
			t.Fatal(err)
		}
		config, err := auth.Authorization()
		if err != nil || config.Username != want {
			t.Errorf("%s: got %q, %v; want %q", repository, config.Username, err, want)
		}
	}
}
