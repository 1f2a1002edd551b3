// SPDX-License-Identifier: Apache-2.0

//go:build vm

package vm_test

import (
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/test/vm"
)

// TestFromSnapshot loads a booted machine twice, each time into a new network.
func TestFromSnapshot(t *testing.T) {
	ctx := testContext(t)
	cfg := vm.Config{Image: buildImage(t)}
	var keys [2]string
	for i := range keys {
		cfg.Network = newLAN(t)
		began := time.Now()
		m, err := vm.FromSnapshot(ctx, cfg)
		failOnError(t, err)
		t.Logf("ready after %v", time.Since(began))
		if state, err := m.WaitBoot(ctx); err != nil || state != "running" {
			t.Errorf("the machine is %q, %v; want running", state, err)
		}
		output(ctx, t, m.Channel, "ping -q -c 1 -w 20 192.0.2.1")
		uplink, err := m.Uplink(ctx)
		failOnError(t, err)
		keys[i] = output(ctx, t, uplink, "head -c 16 /dev/urandom | base64")
		failOnError(t, m.Close())
	}
	if keys[0] == keys[1] {
		t.Error("two machines from one snapshot have the same random numbers")
	}
}
