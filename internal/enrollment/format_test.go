// SPDX-License-Identifier: Apache-2.0

package enrollment

import (
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/test/compatibility"
)

// A change of the format of join tokens and enrollments is detected.
func TestFormatOfDocuments(t *testing.T) {
	compatibility.CheckPart(t, "token-data/document.json", compatibility.Fill[document](t), &document{})
}
