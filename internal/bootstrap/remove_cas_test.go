// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

// A former CA is removed only if the API server is verified without it, at the URL of kubelet and at that of the static
// pod, before and after the change.
func TestRemoveCAs(t *testing.T) {
	for name, test := range map[string]struct {
		served  bool // the API server still has a certificate of the former CA
		pod     bool // the API server of the static pod has
		later   bool // it rejects the node when kubelet has restarted
		written bool // it rejects the node when the kubeconfig is written
		failure error
		want    string // part of the error
	}{
		"a former CA":                          {},
		"it is in use":                         {served: true, want: "without the former CAs"},
		"the API server of the pods uses it":   {pod: true, want: "without the former CAs"},
		"kubelet fails":                        {failure: errors.New("kubelet failed"), want: "keeps the former CAs"},
		"the API server then rejects the node": {later: true, want: "keeps the former CAs"},
		"it rejects the node after the change": {written: true, want: "without the former CAs"},
	} {
		t.Run(name, func(t *testing.T) {
			n := startMovedNode(t)
			former := certtest.NewCA(t, "former")
			use := func(s *apiServer) {
				certificate := former.IssueServing(t, "127.0.0.1")
				s.TLS.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &certificate, nil }
				s.TLS.Certificates = nil
			}
			if test.served {
				use(n.before)
			}
			if test.written {
				n.before.accepted = 2 // at the URL of kubelet, and at that of the static pod
			}
			if test.pod {
				pod := startAPIServer(t, former, "uid")
				flowtest.NoError(t, os.WriteFile(n.config, []byte("server controlplane "+pod.Listener.Addr().String()), 0o600))
			}
			n.writeKubeconfig(t, former.PEM, n.ca.PEM)
			n.Run.State.APIServerCA = slices.Concat(n.ca.PEM, former.PEM)
			flowtest.NoError(t, joinstate.Write(n.Run.Dir, n.Run.State))
			before, restarts := n.contents(t), 0
			err := n.removeCAs(t.Context(), n.own, former.PEM, func(context.Context) error {
				if restarts++; restarts == 1 && test.later {
					n.before.status.Store(http.StatusUnauthorized)
				}
				return test.failure
			})
			want := before
			if test.want == "" {
				want = strings.Replace(before, string(former.PEM), "", 1)
			}
			state, unread := joinstate.Read(n.Run.Dir)
			flowtest.NoError(t, unread)
			isRecorded := bytes.Contains(state.APIServerCA, former.PEM)
			if got := n.contents(t); got != want || isRecorded != (test.want != "") {
				t.Errorf("recorded %t:\n%s\nwant\n%s", isRecorded, got, want)
			}
			if (err == nil) != (test.want == "") || (err != nil && !strings.Contains(err.Error(), test.want)) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

// The last CA remains.
func TestRemoveCAsKeepsOne(t *testing.T) {
	n := startMovedNode(t)
	before := n.contents(t)
	err := n.removeCAs(t.Context(), n.own, n.ca.PEM, func(context.Context) error { return nil })
	if err == nil || n.contents(t) != before {
		t.Errorf("%v\n%s", err, n.contents(t))
	}
}
