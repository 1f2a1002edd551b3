// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"fmt"

	"github.com/coreos/ignition/v2/config/v3_6/types"
)

// Document is a config that refers to nothing outside itself.
type Document struct {
	// Raw is the text of the config if it was complete, else JSON of the newest spec. Raw is a
	// credential if the config or a resource of it is one.
	Raw      []byte
	Version  string       // the spec of the outermost config
	Config   types.Config // merged, translated to the newest spec; all sources are data URLs
	Warnings []string     // of Ignition's own validation, and about unencrypted resources
}

// Format excludes the contents from every verb.
func (d Document) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "Ignition config of spec %s, %d bytes", d.Version, len(d.Raw))
}
