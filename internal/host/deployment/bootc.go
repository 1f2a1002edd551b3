// SPDX-License-Identifier: Apache-2.0

package deployment

import (
	"encoding/json"
	"errors"
	"fmt"
)

// bootcHost is the output of bootc status in version 1 of its format, as far as the agent uses it
// (bootc, docs/src/host-v1.schema.json). Absent values are null.
type bootcHost struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Status     struct {
		Staged         *bootcEntry `json:"staged"`
		Booted         *bootcEntry `json:"booted"`
		Rollback       *bootcEntry `json:"rollback"`
		RollbackQueued bool        `json:"rollbackQueued"`
	} `json:"status"`
}

type bootcEntry struct {
	Image *struct {
		Image struct {
			Image string `json:"image"`
		} `json:"image"`
		Version     string `json:"version"`
		ImageDigest string `json:"imageDigest"`
	} `json:"image"`
	// Incompatible is set if the origin has packages, overrides or modules (bootc, crates/lib/src/utils.rs).
	Incompatible bool `json:"incompatible"`
	Pinned       bool `json:"pinned"`
	OSTree       *struct {
		Checksum     string `json:"checksum"`
		DeploySerial int    `json:"deploySerial"`
	} `json:"ostree"`
}

// ErrFormat is the error for output whose format the agent does not know.
var ErrFormat = errors.New("the format is unknown to this version of hcp-node-agent")

// ErrNoOSTree is the error for a host whose bootc uses no OSTree repository, but its composefs backend.
var ErrNoOSTree = errors.New("the booted deployment is not in an OSTree repository")

func parseBootc(output []byte) (Status, error) {
	var host bootcHost
	if err := json.Unmarshal(output, &host); err != nil {
		return Status{}, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if host.APIVersion != "org.containers.bootc/v1" || host.Kind != "BootcHost" {
		return Status{}, fmt.Errorf("%w: apiVersion %q, kind %q", ErrFormat, host.APIVersion, host.Kind)
	}
	booted := host.Status.Booted
	if booted == nil || booted.OSTree == nil {
		return Status{}, ErrNoOSTree
	}
	return Status{
		Booted:         *booted.deployment(),
		Staged:         host.Status.Staged.deployment(),
		Rollback:       host.Status.Rollback.deployment(),
		RollbackQueued: host.Status.RollbackQueued,
	}, nil
}

func (e *bootcEntry) deployment() *Deployment {
	if e == nil {
		return nil
	}
	d := &Deployment{Pinned: e.Pinned, Modified: e.Incompatible}
	if e.Image != nil {
		d.Image, d.Digest, d.Version = e.Image.Image.Image, e.Image.ImageDigest, e.Image.Version
	}
	if e.OSTree != nil {
		d.Checksum, d.Serial = e.OSTree.Checksum, e.OSTree.DeploySerial
	}
	return d
}
