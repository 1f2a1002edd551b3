// SPDX-License-Identifier: Apache-2.0

//go:build vm

package network

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/test/seeds"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// TestReboots reboots a host whose uplink is attached to br-ex, REBOOTS times (default 10).
func TestReboots(t *testing.T) {
	times := seeds.Number(t, "REBOOTS", 10)
	for _, kind := range kinds {
		t.Run(kind.Name, func(t *testing.T) {
			ctx, h := newHost(t, kind)
			row := newRow(t, kind.Name+", rebooted")
			runAgent(ctx, t, migrationCommand+kind.Flags)
			good := uint64(0)
			for range times {
				func() {
					ctx, cancel := context.WithTimeout(t.Context(), waittest.Timeout)
					defer cancel()
					must(t, machine.Reboot(ctx))
					must(t, kind.Await(ctx, machine))
					if h.checkState(ctx, t, "after a reboot") {
						good++
					}
				}()
				row.afterBoot = count(good, times)
			}
		})
	}
}

// TestPowerCuts cuts the power at a random time during the migration, CUTS times (default 20).
// After the boot the host must have its network, by its own profile or through br-ex, and the
// next run must complete the migration. SEED reproduces a run.
func TestPowerCuts(t *testing.T) {
	times := seeds.Number(t, "CUTS", 20)
	seed := seeds.First(t)
	t.Logf("SEED=%d", seed)
	for _, kind := range kinds {
		name := fnv.New64()
		_, _ = name.Write([]byte(kind.Name))              // never fails
		dice := rand.New(rand.NewPCG(seed, name.Sum64())) //nolint:gosec // must be repeatable
		t.Run(kind.Name, func(t *testing.T) {
			ctx, _ := newHost(t, kind)
			began := time.Now()
			runAgent(ctx, t, migrationCommand+kind.Flags)
			whole := time.Since(began)
			row := newRow(t, kind.Name+", power cut, SEED="+strconv.FormatUint(seed, 10))
			good := uint64(0)
			for range times {
				// Slightly longer than a migration takes, to include the last writes.
				moment := time.Duration(dice.Int64N(int64(whole + whole/4)))
				if t.Run(moment.String(), func(t *testing.T) {
					ctx, h := newHost(t, kind)
					h.cutPowerAfter(ctx, t, moment)
					runAgent(ctx, t, migrationCommand+kind.Flags)
					h.checkState(ctx, t, "after the next run")
				}) {
					good++
				}
				row.afterBoot = count(good, times)
			}
		})
	}
}

func count(good, of uint64) string {
	return strconv.FormatUint(good, 10) + " of " + strconv.FormatUint(of, 10)
}

// cutPowerAfter starts a migration, cuts the power after moment, and boots.
func (h host) cutPowerAfter(ctx context.Context, t *testing.T, moment time.Duration) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = machine.Run(ctx, "hcp-node-agent join --only network "+h.Flags) // the connection is lost
	}()
	time.Sleep(moment)
	must(t, machine.Kill(ctx))
	<-ended
	must(t, machine.Boot(ctx))
	_, err := machine.WaitBoot(ctx)
	must(t, err)
	must(t, h.Await(ctx, machine))
	h.checkState(ctx, t, "after the power cut")
	h.checkReachable(ctx, t)
}
