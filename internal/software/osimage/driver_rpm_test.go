// SPDX-License-Identifier: Apache-2.0

//go:build rpm

package osimage

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
)

type noLabels struct{}

func (noLabels) Labels(context.Context, map[string]hostfs.FileType) (map[string][]byte, error) {
	return nil, nil
}

func (noLabels) Relabel(context.Context, []string) error { return nil }

func TestDriver(t *testing.T) {
	layer := newLayer(t, newRoot(t, "/usr/share/rpm"), "gzip")
	driver := &Driver{
		Labeler: noLabels{},
		Layer: Layer{
			Contents: software.Contents{
				Image:    "quay.io/openshift/os@sha256:00",
				Packages: map[string]string{"openshift-kubelet": "4.21.0-1.el9"},
			},
			File:    layer.Name(),
			Scratch: t.TempDir(),
		},
	}
	change := driver.Layer.Change()
	change.Target = filepath.Join(t.TempDir(), "software", "sha256-00")
	check := func(moment string, want bool) {
		t.Helper()
		state, err := driver.Get(t.Context(), change)
		if err != nil || change.Matches(state) != want {
			t.Fatalf("%s: %+v, %v", moment, state, err)
		}
	}
	check("at first", false)

	// A kill while the directory is filled leaves a part of it, which is not the directory.
	if err := os.MkdirAll(change.Target+".part/usr/bin", 0o700); err != nil {
		t.Fatal(err)
	}
	check("after a kill", false)
	if err := driver.Set(t.Context(), change, ledger.State{}); err != nil {
		t.Fatal(err)
	}
	check("after Set", true)
	changes, err := Place(change.Target, []string{"openshift-kubelet", "cri-o"})
	if err != nil || len(changes) != 4 {
		t.Errorf("%d changes, %v", len(changes), err)
	}
	if left, _ := os.ReadDir(driver.Layer.Scratch); len(left) > 0 {
		t.Errorf("Set leaves %v", left)
	}

	if err := driver.Restore(t.Context(), change, ledger.State{Present: true}); err != nil {
		t.Fatal(err)
	}
	check("after Restore of a directory that existed before", true)
	if err := os.Mkdir(change.Target+".part", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := driver.CleanUp(t.Context(), []ledger.Change{change}); err != nil {
		t.Fatal(err)
	}
	if err := driver.Restore(t.Context(), change, ledger.State{}); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Dir(change.Target)); err != nil || len(left) > 0 {
		t.Errorf("Restore leaves %v, %v", left, err)
	}
}
