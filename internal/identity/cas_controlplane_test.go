// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package identity

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
)

// During a CA rotation the payloads first contain the old and the new CA, then
// only the new one. The node keeps its certificate.
func TestControlPlaneCARotation(t *testing.T) {
	identity, recorded := newIdentity(t, "renewed")
	own, err := identity.expectedCluster()
	if err != nil {
		t.Fatal(err)
	}
	before := certtest.NewCA(t, "of before")
	both := slices.Concat(before.PEM, own.CA)
	identity.CA = own.CA
	if _, err := identity.Obtain(kubetest.Context(t, time.Minute), manualApprover(t)); err != nil {
		t.Fatal(err)
	}
	pair := kubetest.ReadFile(t, identity.clientCertificatePath())
	// obtain runs with the CAs of a kubeconfig and of a payload.
	obtain := func(stored, payload []byte) (Result, []byte, error) {
		t.Helper()
		content, err := encodeKubeconfig(kube.Cluster{Server: own.Server, CA: stored}, identity.clientCertificatePath())
		if err != nil {
			t.Fatal(err)
		}
		kubetest.WriteFile(t, identity.Kubeconfig, content)
		identity.CA = payload
		result, err := identity.Obtain(kubetest.Context(t, time.Minute), nil)
		now, unread := kube.ParseCluster(kubetest.ReadFile(t, identity.Kubeconfig))
		if unread != nil {
			t.Fatal(unread)
		}
		return result, now.CA, err
	}
	for name, test := range map[string]struct {
		stored, payload, want []byte
		message               string
	}{
		"unchanged":        {stored: own.CA, payload: own.CA, want: own.CA},
		"one more":         {stored: own.CA, payload: both, want: both},
		"one less":         {stored: both, payload: own.CA, want: own.CA},
		"in another order": {stored: both, payload: slices.Concat(own.CA, before.PEM), want: both},
		"another":          {stored: before.PEM, payload: own.CA, want: own.CA},
		"only the former CA in the payload": {
			stored:  both,
			payload: before.PEM,
			want:    both,
			message: "keeps its current CAs",
		},
	} {
		t.Run(name, func(t *testing.T) {
			result, got, err := obtain(test.stored, test.payload)
			changes := !bytes.Equal(test.stored, test.want)
			if err != nil || !bytes.Equal(got, test.want) || result.Changed != changes || result.OnlyCAs != changes ||
				result.Fingerprint == "" {
				t.Errorf("Obtain() = %+v, %v; the kubeconfig has:\n%s", result, err, got)
			}
			if !bytes.Equal(kubetest.ReadFile(t, identity.clientCertificatePath()), pair) ||
				len(clientCSRsOf(t, "renewed")) != 1 {
				t.Error("the node has another certificate")
			}
			if !strings.Contains(recorded.Text(), test.message) {
				t.Errorf("%q was not printed:\n%s", test.message, recorded.Text())
			}
		})
	}
	// These CAs do not verify the API server.
	if _, got, err := obtain(own.CA, before.PEM); report.CodeOf(err) != report.Refused ||
		!strings.Contains(err.Error(), "the cluster may have been reinstalled") || !bytes.Equal(got, own.CA) {
		t.Errorf("Obtain() = %v", err)
	}
}
