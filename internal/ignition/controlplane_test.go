// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package ignition_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/adapt"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/bed"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// TestControlPlaneFetch fetches from the ignition server of the test environment, which responds
// as HyperShift's does, with the name in its certificate and another address.
func TestControlPlaneFetch(t *testing.T) {
	ctx := t.Context()
	c, err := bed.Start(ctx, bed.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	current := func() *ignition.UserData {
		content, err := c.CurrentUserData(ctx)
		if err != nil {
			t.Fatal(err)
		}
		userData, err := ignition.ParseUserData(content)
		if err != nil {
			t.Fatal(err)
		}
		return userData
	}
	fetch := func(userData *ignition.UserData, budget time.Duration) (*ignition.Payload, error) {
		return ignition.Fetcher{ConnectTo: c.IgnitionForward, RetryTimeout: budget}.Fetch(ctx, userData)
	}
	payload, err := fetch(current(), 0)
	if err != nil {
		t.Fatal(err)
	}
	state, err := c.State(ctx)
	if err != nil || len(state.Reached) != 1 || state.Reached[0].NodePool != c.NodePool {
		t.Errorf("the NodePool was not told that the node has come: %+v, %v", state.Reached, err)
	}
	if kubeconfig, _, _ := payload.File(ignition.BootstrapKubeconfigPath); !strings.Contains(string(kubeconfig),
		c.NodeSideServer) {
		t.Errorf("the payload's kubeconfig does not lead to %s", c.NodeSideServer)
	}
	tree, err := hostfs.OpenTree(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	exists := func(string) bool { return true }
	root := map[string]int{"root": 0}
	host := adapt.Input{
		Hosted: true, Tree: tree, User: root, Group: root,
		HasUnit: exists, HasSysctl: exists, HasModule: exists, UnitFileState: func(string) string { return "" },
	}
	if plan, err := adapt.ToHost(payload, host); err != nil || len(plan.Files) == 0 {
		t.Errorf("adapting the payload: %v", err)
	}
	for name, test := range map[string]struct {
		spoil   func(context.Context) error
		budget  time.Duration
		code    report.Code
		message string
	}{
		"late":      {faults(c, bed.Faults{NotReadySeconds: 2}), waittest.Timeout, report.Success, ""},
		"down":      {faults(c, bed.Faults{DownSeconds: 2}), waittest.Timeout, report.Success, ""},
		"expired":   {c.ExpireTokens, time.Second, report.CredentialRefused, "511"},
		"deleted":   {c.DeleteTokens, time.Second, report.CredentialRefused, "511"},
		"truncated": {faults(c, bed.Faults{TruncateAfter: 1000}), time.Second, report.Failed, "the transfer ended after"},
		"wrong CA":  {faults(c, bed.Faults{Certificate: bed.CertificateWrongCA}), time.Second, report.Refused, "CA"},
		"wrong SAN": {
			faults(c, bed.Faults{Certificate: bed.CertificateWrongName}), time.Second, report.Refused, "--connect-to",
		},
		"old cert": {faults(c, bed.Faults{Certificate: bed.CertificateExpired}), time.Second, report.Refused, "expired"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := c.Reset(ctx); err != nil {
				t.Fatal(err)
			}
			userData := current() // from before the rotation
			if err := test.spoil(ctx); err != nil {
				t.Fatal(err)
			}
			_, err := fetch(userData, test.budget)
			if report.CodeOf(err) != test.code {
				t.Fatalf("code %d: %v", report.CodeOf(err), err)
			}
			if err != nil && !strings.Contains(err.Error()+string(report.RemedyOf(err)), test.message) {
				t.Errorf("it says %q and advises %q", err, report.RemedyOf(err))
			}
		})
	}
}

func faults(c *bed.ControlPlane, f bed.Faults) func(context.Context) error {
	return func(ctx context.Context) error { return c.SetFaults(ctx, f) }
}
