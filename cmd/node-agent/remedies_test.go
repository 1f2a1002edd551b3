// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/test/remedies"
)

func TestRemediesAreValidCommandLines(t *testing.T) {
	agent().CheckRemedies(t, 60, map[string]string{
		"4.Y": "4.18", "IMAGE": "quay.io/a/b:c", remedies.Placeholder: "4.18",
	})
}
