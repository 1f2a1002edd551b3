// SPDX-License-Identifier: Apache-2.0

package crio

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/cri"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger/resource"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// StorageDir is the directory of CRI-O's images and containers. Podman uses the same
// directory.
const StorageDir = "/var/lib/containers"

// StorageKind is the ledger's kind for StorageDir.
const StorageKind ledger.Kind = "image storage"

// StorageDriver is a snapshot that records whether an image storage existed before CRI-O first ran. An undo
// removes the storage only if none existed, and if no container, no volume and no secret is left. After
// CRI-O's containers are removed, any container left belongs to podman, as all volumes and secrets do. The
// images of a shared storage cannot be separated.
type StorageDriver struct{ Contents *resource.DirSnapshot }

// Get returns whether the storage exists, and in Names one of its paths and those of its images.
func (d *StorageDriver) Get(ctx context.Context, c ledger.Change) (ledger.State, error) {
	state, err := d.Contents.Get(ctx, c)
	if err != nil {
		return state, err
	}
	// Often a link to a larger disk.
	inner := ledger.Change{Target: c.Target + "/storage"}
	if link, err := resource.LinkedDirectory(d.Contents.Tree, inner.Target); err != nil {
		return state, err
	} else if link != "" {
		linked, err := d.Contents.Get(ctx, inner)
		if err != nil {
			return state, err
		}
		state.Names = append(state.Names, linked.Names...)
	}
	if len(state.Names) > 0 {
		// One name is sufficient to record that the storage existed.
		images := slices.DeleteFunc(state.Names[1:], func(p string) bool {
			return path.Dir(p) != imagesDir || len(path.Base(p)) != 64 // SHA-256 in hexadecimal
		})
		state.Names = state.Names[:1+len(images)]
	}
	return state, nil
}

// imagesDir has a directory for each image, named by its ID.
const imagesDir = StorageDir + "/storage/overlay-images"

// AddedImages returns the images that CRI-O or podman added to the storage since the state before. It
// returns none if CRI-O does not run.
func AddedImages(ctx context.Context, socket string, before ledger.State) ([]cri.Image, error) {
	if !cri.IsListening(socket) {
		return nil, nil
	}
	images, err := cri.Images(ctx, socket)
	if err != nil {
		return nil, report.Fail(report.Failed, "systemctl restart crio", "%w", err)
	}
	return slices.DeleteFunc(images, func(image cri.Image) bool {
		return slices.Contains(before.Names, imagesDir+"/"+image.ID)
	}), nil
}

// Restore removes the storage if only CRI-O used it.
func (d *StorageDriver) Restore(ctx context.Context, c ledger.Change, before ledger.State) error {
	if len(before.Names) > 0 {
		return nil
	}
	// Those of podman run --rm, and thus of quadlets, are in the second list.
	for _, name := range []string{"containers.json", "volatile-containers.json"} {
		content, _, err := d.Contents.Tree.ReadFile(c.Target + "/storage/overlay-containers/" + name)
		if hostfs.IsNotExist(err) {
			continue
		}
		if err != nil {
			return err
		}
		var left []json.RawMessage
		if err := json.Unmarshal(content, &left); err != nil {
			return fmt.Errorf("reading the list of containers in %s: %w", StorageDir, err)
		}
		if len(left) > 0 {
			return nil
		}
	}
	hasSecrets, err := d.Contents.Tree.Exists(c.Target + "/storage/secrets/filedriver/secretsdata.json")
	if hasSecrets || err != nil {
		return err
	}
	volumes, err := d.Contents.Tree.ReadDir(c.Target + "/storage/volumes")
	if len(volumes) > 0 || err != nil && !hostfs.IsNotExist(err) {
		return err
	}
	return d.Contents.Restore(ctx, c, before)
}
