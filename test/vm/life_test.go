// SPDX-License-Identifier: Apache-2.0

//go:build vm

package vm_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/test/vm"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// TestLife tests all operations on a machine in sequence.
func TestLife(t *testing.T) {
	ctx := testContext(t)
	m := startBooted(ctx, t)
	for _, step := range []struct {
		name string
		run  func(context.Context, *testing.T, *vm.Machine)
	}{
		{"files", testFiles},
		{"uplink", testUplink},
		{"snapshot", testSnapshot},
		{"reboot", testReboot},
		{"power cut", testPowerCut},
		{"power off", testPowerOff},
	} {
		if !t.Run(step.name, func(t *testing.T) {
			began := time.Now()
			step.run(ctx, t, m)
			t.Logf("took %v", time.Since(began))
		}) {
			t.FailNow()
		}
	}
}

func testFiles(ctx context.Context, t *testing.T, m *vm.Machine) {
	content := make([]byte, 3<<20)
	_, _ = rand.Read(content) // never fails
	const path = "/root/it's a directory/file"
	if err := m.Put(ctx, path, bytes.NewReader(content), 0o640); err != nil {
		t.Fatal(err)
	}
	got, err := m.Get(ctx, path)
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("got %d bytes back, %v; want the %d sent", len(got), err, len(content))
	}
	if mode := output(ctx, t, m.Channel, "stat -c %a:%U \"/root/it's a directory/file\""); mode != "640:root" {
		t.Errorf("mode and owner are %s, want 640:root", mode)
	}
	if _, err := m.Get(ctx, "/no/such/file"); err == nil {
		t.Error("getting a missing file succeeded")
	}
	result, err := m.Run(ctx, "echo out; echo err >&2; exit 7")
	if want := (vm.Result{Stdout: "out\n", Stderr: "err\n", ExitCode: 7}); err != nil || result != want {
		t.Errorf("got %+v, %v; want %+v", result, err, want)
	}
}

// testUplink keeps an administrator's session over the uplink open through both kinds of link
// failure.
func testUplink(ctx context.Context, t *testing.T, m *vm.Machine) {
	uplink, err := m.Uplink(ctx)
	if err != nil {
		t.Fatal(err)
	}
	output(ctx, t, uplink, "true")
	carrier := func(want string) {
		t.Helper()
		if got := output(ctx, t, m.Channel, "cat /sys/class/net/eth0/carrier"); got != want {
			t.Errorf("carrier is %s, want %s", got, want)
		}
	}
	lost := func() {
		t.Helper()
		interruptible, interrupt := context.WithCancel(ctx)
		ended := make(chan error)
		go func() {
			_, err := uplink.Output(interruptible, "true")
			ended <- err
		}()
		for range 5 { // commands that begin later, on the control channel
			output(ctx, t, m.Channel, "true")
		}
		interrupt()
		if err := <-ended; err == nil {
			t.Error("a command got through without a link")
		}
	}
	failOnError(t, m.BlackholeLink(ctx))
	carrier("1")
	lost()
	failOnError(t, m.RestoreLink(ctx))
	failOnError(t, m.CutLink(ctx))
	carrier("0")
	lost()
	failOnError(t, m.RestoreLink(ctx))
	carrier("1")
	output(ctx, t, m.Channel, "nm-online -q -t 60")
	if output(ctx, t, uplink, "echo still here") != "still here" || !uplink.Connected() {
		t.Error("the session over the uplink did not survive")
	}
}

func testSnapshot(ctx context.Context, t *testing.T, m *vm.Machine) {
	output(ctx, t, m.Channel, "echo before >/root/mark; echo before >/run/mark")
	saved := time.Now()
	failOnError(t, m.Snapshot(ctx, "a"))
	t.Logf("the snapshot took %v", time.Since(saved))
	output(ctx, t, m.Channel, "echo after >/root/mark; echo after >/run/mark; sync")
	random := output(ctx, t, m.Channel, "head -c 16 /dev/urandom | base64")
	failOnError(t, m.CutLink(ctx))
	began := time.Now()
	failOnError(t, m.Restore(ctx, "a"))
	took := time.Since(began)
	t.Logf("the restore took %v", took)
	failOnError(t, m.CutLink(ctx))
	// The clock of the guest can be off by the time that it takes to set it. That of a guest whose clock is not set is
	// off by the time since the snapshot.
	waittest.Until(t, "waiting until the snapshot is old", func() (any, bool) {
		age := time.Since(saved)
		return age, age > 4*took
	})
	began = time.Now()
	failOnError(t, m.Restore(ctx, "a"))

	if got := output(ctx, t, m.Channel, "cat /root/mark /run/mark"); got != "before\nbefore" {
		t.Errorf("disk and memory hold %q, want what was there at the snapshot", got)
	}
	now, err := strconv.ParseFloat(output(ctx, t, m.Channel, "date +%s.%N"), 64)
	failOnError(t, err)
	if off := time.Since(time.UnixMilli(int64(now * 1000))).Abs(); off > time.Since(began) {
		t.Errorf("the clock is off by %v, %v after the beginning of the restore", off, time.Since(began))
	}
	if output(ctx, t, m.Channel, "head -c 16 /dev/urandom | base64") == random {
		t.Error("random numbers repeat after the restore")
	}
	output(ctx, t, m.Channel, "ping -q -c 1 -w 20 192.0.2.1")
	if err := m.Restore(ctx, "nothing"); err == nil {
		t.Error("restoring a missing snapshot succeeded")
	}
}

func testReboot(ctx context.Context, t *testing.T, m *vm.Machine) {
	address, err := m.Address(ctx)
	failOnError(t, err)
	before := output(ctx, t, m.Channel, "cat /etc/machine-id")
	failOnError(t, m.Reboot(ctx))
	if got := output(ctx, t, m.Channel, "cat /etc/machine-id"); got != before || len(got) != 32 {
		t.Errorf("machine-id is %q after the reboot, %q before", got, before)
	}
	if got := output(ctx, t, m.Channel, "journalctl --list-boots -o json | jq length"); got != "2" {
		t.Errorf("the journal knows %s boots, want 2", got)
	}
	if got, err := m.Address(ctx); err != nil || got != address {
		t.Errorf("the uplink has %v, %v; want %v as before", got, err, address)
	}
}

// testPowerCut checks that exactly the flushed data survives a power cut.
func testPowerCut(ctx context.Context, t *testing.T, m *vm.Machine) {
	output(ctx, t, m.Channel, "echo kept >/root/flushed; sync; echo lost >/root/cached")
	failOnError(t, m.Kill(ctx))
	if m.Running() {
		t.Error("the machine runs without power")
	}
	if _, err := m.Run(ctx, "true"); err == nil {
		t.Error("a command ran without power")
	}
	failOnError(t, m.Boot(ctx))
	if state, err := m.WaitBoot(ctx); err != nil || state != "running" {
		t.Fatalf("boot after the power cut ended with %q, %v", state, err)
	}
	got := output(ctx, t, m.Channel,
		"cat /root/flushed /root/cached 2>/dev/null; true")
	if strings.TrimSpace(got) != "kept" {
		t.Errorf("the disk holds %q after the power cut, want only what was flushed", got)
	}
}

func testPowerOff(ctx context.Context, t *testing.T, m *vm.Machine) {
	failOnError(t, m.PowerOff(ctx))
	if m.Running() {
		t.Error("the machine still runs")
	}
}

func failOnError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
