// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/test/compatibility"
)

// A change of the data of the drivers in the ledger is detected.
func TestFormatOfData(t *testing.T) {
	compatibility.CheckPart(t, "ledger-data/ports.json", compatibility.Fill[openPorts](t), &openPorts{})
	compatibility.CheckPart(t, "ledger-data/kernel-arguments.json", compatibility.Fill[ArgumentChange](t),
		&ArgumentChange{})
}
