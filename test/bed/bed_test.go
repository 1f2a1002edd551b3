// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package bed_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/test/bed"
)

func TestControlPlaneLifeCycle(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("the control plane makes a network namespace: run this test as root")
	}
	ctx, dir := context.Background(), t.TempDir()
	c, err := bed.Start(ctx, bed.Options{Dir: dir, Name: "other"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if c.NodeSideServer != "https://api.other.example.com:6443" {
		t.Errorf("nodes see the API at %s", c.NodeSideServer)
	}
	before, err := c.CurrentUserData(ctx)
	if err != nil || !json.Valid(before) {
		t.Fatalf("the user data is %q, %v", before, err)
	}
	want := bed.Faults{Certificate: bed.CertificateWrongName, TruncateAfter: 7, BytesPerSecond: 8, DateSkewSeconds: -9}
	for name, err := range map[string]error{
		"faults":  c.SetFaults(ctx, want),
		"rotate":  c.RotateToken(ctx),
		"expire":  c.ExpireTokens(ctx),
		"payload": c.ReplacePayload(ctx, []byte(`{"ignition":{"version":"2.2.0"}}`)),
		"network": c.SetNetwork(ctx, false),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	state, err := c.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if state.Faults != want || state.TokenGeneration != 3 || !state.PayloadReplaced || state.Network {
		t.Errorf("the state is %+v", state)
	}
	if after, err := c.CurrentUserData(ctx); err != nil || string(after) == string(before) {
		t.Errorf("the user data is still the same, %v", err)
	}
	if err := c.SetFaults(ctx, bed.Faults{Certificate: "nonsense"}); err == nil {
		t.Error("a fault that does not exist was taken")
	}
	if err := errors.Join(c.DeleteTokens(ctx), c.ReplacePayloadUnchecked(ctx, []byte("x")), c.Reset(ctx)); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) != 1 || left[0] != c.Logs {
		t.Errorf("left are %v, %v; want the logs only", left, err)
	}
}

func TestStartReportsFailure(t *testing.T) {
	bin := writeControlPlaneScript(t, "echo controlplane: no room for it >&2; exit 1")
	_, err := bed.Start(context.Background(), bed.Options{Bin: bin, Dir: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "no room for it") {
		t.Errorf("got %v, want the output of the program", err)
	}
}

func TestStartIsCanceledByContext(t *testing.T) {
	// never becomes ready, and exits when its standard input is closed
	bin := writeControlPlaneScript(t, "exec cat >/dev/null")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := bed.Start(ctx, bed.Options{Bin: bin, Dir: t.TempDir()})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's end", err)
	}
}

// writeControlPlaneScript creates a directory with a shell script as the controlplane binary.
func writeControlPlaneScript(t *testing.T, script string) (bin string) {
	t.Helper()
	bin = t.TempDir()
	path := filepath.Join(bin, "controlplane")
	//nolint:gosec // must be executable
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return bin
}
