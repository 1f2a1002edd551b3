// SPDX-License-Identifier: Apache-2.0

package ostree

import (
	"encoding/json"
	"strings"
	"time"
)

// The output of "bootc status --json" (docs/src/host-v1.schema.json, crates/lib/src/spec.rs).
type (
	host struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Metadata   map[string]string `json:"metadata"`
		Spec       hostSpec          `json:"spec"`
		Status     hostStatus        `json:"status"`
	}
	hostSpec struct {
		Image     *imageReference `json:"image"`
		BootOrder string          `json:"bootOrder"`
	}
	imageReference struct {
		Image     string `json:"image"`
		Transport string `json:"transport"`
		// Signature is omitted for ostree-unverified-registry (crates/lib/src/status.rs).
		Signature string `json:"signature,omitempty"`
	}
	hostStatus struct {
		Staged           *bootEntry  `json:"staged"`
		Booted           *bootEntry  `json:"booted"`
		Rollback         *bootEntry  `json:"rollback"`
		OtherDeployments []bootEntry `json:"otherDeployments,omitempty"`
		RollbackQueued   bool        `json:"rollbackQueued"`
		Type             *string     `json:"type"`
		USROverlay       *struct{}   `json:"usrOverlay"`
		ReadOnly         bool        `json:"readOnly"`
	}
	bootEntry struct {
		Image             *imageStatus `json:"image"`
		CachedUpdate      *imageStatus `json:"cachedUpdate"`
		Incompatible      bool         `json:"incompatible"`
		Pinned            bool         `json:"pinned"`
		SoftRebootCapable bool         `json:"softRebootCapable"`
		DownloadOnly      bool         `json:"downloadOnly"`
		Store             *string      `json:"store"`
		OSTree            *entryOSTree `json:"ostree"`
		Composefs         *struct{}    `json:"composefs"`
	}
	entryOSTree struct {
		Stateroot    string `json:"stateroot"`
		Checksum     string `json:"checksum"`
		DeploySerial int    `json:"deploySerial"`
	}
	imageStatus struct {
		Image        imageReference `json:"image"`
		Version      *string        `json:"version"`
		Timestamp    *time.Time     `json:"timestamp"`
		ImageDigest  string         `json:"imageDigest"`
		Architecture string         `json:"architecture"`
	}
)

// hostOf returns the status of a host (crates/lib/src/status.rs, get_status).
func hostOf(r roles, metadata func(commit string) (imageMetadata, error)) (host, error) {
	h := host{
		APIVersion: "org.containers.bootc/v1",
		Kind:       "BootcHost",
		Metadata:   map[string]string{"name": "host"},
		Spec:       hostSpec{BootOrder: "default"},
		Status:     hostStatus{RollbackQueued: r.rollbackQueued()},
	}
	entry := func(d *deployment) (*bootEntry, error) {
		if d == nil {
			return nil, nil
		}
		return entryOf(*d, metadata)
	}
	var err error
	if h.Status.Staged, err = entry(r.staged); err != nil {
		return h, err
	}
	if h.Status.Booted, err = entry(&r.booted); err != nil {
		return h, err
	}
	if h.Status.Rollback, err = entry(r.rollback); err != nil {
		return h, err
	}
	for _, d := range r.other {
		other, err := entryOf(d, metadata)
		if err != nil {
			return h, err
		}
		h.Status.OtherDeployments = append(h.Status.OtherDeployments, *other)
	}
	next := h.Status.Staged
	if next == nil {
		next = h.Status.Booted
	}
	if next.Image != nil { // without an image, the spec is empty
		h.Spec.Image = &next.Image.Image
		if h.Status.RollbackQueued {
			h.Spec.BootOrder = "rollback"
		}
	}
	if h.Status.Booted.Image != nil {
		kind := "bootcHost"
		h.Status.Type = &kind
	}
	return h, nil
}

// entryOf returns the status of a deployment (crates/lib/src/status.rs, boot_entry_from_deployment).
func entryOf(d deployment, metadata func(commit string) (imageMetadata, error)) (*bootEntry, error) {
	store := "ostreeContainer"
	entry := &bootEntry{
		Incompatible: d.incompatible(),
		Pinned:       d.pinned,
		DownloadOnly: d.staged && d.locked,
		Store:        &store,
		OSTree:       &entryOSTree{Stateroot: d.stateroot, Checksum: d.checksum, DeploySerial: d.serial},
	}
	if d.reference() == "" || entry.Incompatible {
		return entry, nil
	}
	image, err := metadata(d.checksum)
	if err != nil {
		return nil, err
	}
	entry.Image = &imageStatus{
		Image:        parseReference(d.reference()),
		ImageDigest:  image.digest,
		Architecture: image.config.Architecture,
		Timestamp:    image.created(),
	}
	if version := image.version(); version != "" {
		entry.Image.Version = &version
	}
	return entry, nil
}

// parseReference parses the reference of an origin.
func parseReference(reference string) imageReference {
	return imageReference{Image: strings.TrimPrefix(reference, originPrefix), Transport: "registry"}
}

func toJSON(v any) (string, error) {
	out, err := json.Marshal(v)
	return string(out) + "\n", err
}
