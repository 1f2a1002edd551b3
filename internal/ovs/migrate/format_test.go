// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/test/compatibility"
)

// A change of the data of br-ex in the ledger is detected.
func TestFormatOfData(t *testing.T) {
	compatibility.CheckPart(t, "ledger-data/bridge.json", compatibility.Fill[bridgeData](t), &bridgeData{})
}
