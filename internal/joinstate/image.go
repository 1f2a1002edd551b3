// SPDX-License-Identifier: Apache-2.0

package joinstate

import (
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger/resource"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// The files of a host whose image the agent updates.
const (
	ImageFile = "image.json" // the record of the updates of the image
	// HoldFile exists while kubelet must not start: between the reboot into an image and the payload of the image. The
	// conditions of a drop-in of kubelet name it; see package rhcos.
	HoldFile = "hold-kubelet"
)

// Images is the record of the updates of the image of a host.
type Images struct {
	report.TypeMeta
	Update *ImageUpdate  `json:"update,omitempty"` // the unfinished update; nil if there is none
	Failed []FailedImage `json:"failed,omitempty"` // images that the agent has rolled back
	First  *FirstImage   `json:"first,omitempty"`  // before the agent's first update; nil: there was none
	// the deployment before the last update, to which the host can be rolled back
	Previous *LeftDeployment `json:"previous,omitempty"`
	// the kernel arguments that were set with the last image; nil: the agent has set none
	Arguments *ImageArguments `json:"arguments,omitempty"`
}

// ImageArguments are the kernel arguments that the agent has set in the deployment of an image.
type ImageArguments struct {
	Set    resource.ArgumentChange `json:"set"`
	Before []string                `json:"before,omitempty"` // the words of the kernel command line without them
}

// LeftDeployment is a deployment that the host left for a later one.
type LeftDeployment struct {
	ID       string `json:"id"`
	Position int    `json:"position"` // of the ledger, which then described its /etc
	// the kernel arguments that the agent had set in it
	Arguments *ImageArguments `json:"arguments,omitempty"`
}

// FirstImage is the image that a host ran before the agent booted another one.
type FirstImage struct {
	Image string `json:"image,omitempty"` // NAME@DIGEST; "" for a deployment that is of no image
}

// ImageUpdate is the state of an unfinished update or rollback of the image.
type ImageUpdate struct {
	Digest       string    `json:"digest"`          // of the image to boot
	RebootedFrom string    `json:"rebootedFrom"`    // ID of the boot that the agent has ended; "" before the reboot
	Booted       time.Time `json:"booted,omitzero"` // when the agent has first found the image booted
}

// FailedImage is an image with which the node did not become Ready.
type FailedImage struct {
	Digest string    `json:"digest" doc:"digest of the image"`
	Reason string    `json:"reason" doc:"why the node was rolled back to the image before it"`
	Time   time.Time `json:"time" doc:"time of the rollback"`
}

const kindImages = "ImageState"

// LoadImages returns the record, empty if there is none.
func LoadImages(dir string) (Images, error) {
	var images Images
	_, err := LoadDocument(dir, ImageFile, kindImages, &images)
	return images, err
}

// Save stores the record durably.
func (i Images) Save(dir string) error {
	i.TypeMeta = report.Meta(kindImages)
	return SaveDocument(dir, ImageFile, i)
}

// ArgumentsOf returns the kernel arguments that the agent has set in the booted deployment, nil if it has set none.
// Until the host has left a deployment, and after a rollback, they are those of the previous one.
func (i Images) ArgumentsOf(booted string) *ImageArguments {
	if i.Previous != nil && i.Previous.ID == booted {
		return i.Previous.Arguments
	}
	return i.Arguments
}

// FindFailed returns the failed image with the digest, nil if it has not failed.
func (i Images) FindFailed(digest string) *FailedImage {
	for _, one := range i.Failed {
		if one.Digest == digest {
			return &one
		}
	}
	return nil
}

// HasRebooted reports whether the host was rebooted for the update to the image with the digest.
func (u *ImageUpdate) HasRebooted(digest, boot string) bool {
	return u != nil && u.Digest == digest && u.RebootedFrom != "" && u.RebootedFrom != boot
}

// HoldKubelet keeps kubelet from starting until ReleaseKubelet is called, also across boots.
func HoldKubelet(dir string) error { return SaveFile(dir, HoldFile, nil) }

// ReleaseKubelet permits the start of kubelet.
func ReleaseKubelet(dir string) error { return RemoveFiles(dir, HoldFile) }
