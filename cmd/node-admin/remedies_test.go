// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/test/remedies"
)

func TestRemediesAreValidCommandLines(t *testing.T) {
	admin().CheckRemedies(t, 6, map[string]string{remedies.Placeholder: "worker-7"}) // the name of a node
}
