// SPDX-License-Identifier: Apache-2.0

//go:build vm

package pair

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/test/vm/conformance"
)

// TestConformance joins two machines and runs Kubernetes' conformance tests of nodes and their network.
func TestConformance(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 12*time.Hour)
	defer cancel()
	logs := filepath.Join(logDirectory, "conformance")
	suite, err := conformance.Prepare(ctx, network.ControlPlane, repository, logs)
	must(t, err)
	must(t, network.StartDNS(ctx, suite.DNS()))
	join(ctx, t, firstNode, secondNode)
	checkTraffic(ctx, t, firstNode, secondNode)
	must(t, suite.Pull(ctx, network.Client))
	result, err := suite.Run(ctx, os.Getenv("CONFORMANCE") == "all")
	must(t, err)
	t.Log("\n" + result.Markdown())
	for _, failure := range result.Failures() {
		t.Error(failure)
	}
}
