// SPDX-License-Identifier: Apache-2.0

package crio

import (
	"cmp"

	"github.com/pelletier/go-toml/v2"
)

// OverlaySize returns the limit that a storage.conf sets for the writable layer of every
// container, or "" if there is none. It returns "" for an unreadable file too, because
// CRI-O rejects it with a better message.
func OverlaySize(storageConf []byte) string {
	var document struct {
		Storage struct {
			Options struct {
				Size    string `toml:"size"`
				Overlay struct {
					Size string `toml:"size"`
				} `toml:"overlay"`
			} `toml:"options"`
		} `toml:"storage"`
	}
	if err := toml.Unmarshal(storageConf, &document); err != nil {
		return ""
	}
	size := cmp.Or(document.Storage.Options.Overlay.Size, document.Storage.Options.Size)
	if size == "0" {
		return ""
	}
	return size
}
