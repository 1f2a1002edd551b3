// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

// The node follows the API server of its cluster to another URL, and no other one. If it does not work there, all is as
// before.
func TestMoveAPIServer(t *testing.T) {
	for name, test := range map[string]struct {
		uid     string // of the Node at the new URL
		change  func(n *movedNode, next *apiServer)
		restart func(n *movedNode, next *apiServer, end func()) error
		want    string // part of the error
		isEarly bool   // nothing was changed, and nothing is restarted
	}{
		"another URL": {uid: "uid"},
		"another cluster with the same CA": {
			uid: "other", want: "is the API server of another cluster", isEarly: true,
		},
		"it rejects the node": {
			uid: "uid", change: func(_ *movedNode, next *apiServer) { next.status.Store(http.StatusUnauthorized) },
			want: "cannot be used", isEarly: true,
		},
		"the former one has ended": {
			uid: "uid", change: func(n *movedNode, _ *apiServer) { n.before.Close() }, want: "refused", isEarly: true,
		},
		"it rejects the node after the change": {
			uid: "uid", change: func(_ *movedNode, next *apiServer) { next.accepted = 1 },
			want: "rejects this credential", isEarly: true,
		},
		"kubelet does not start": {
			uid: "uid", restart: func(*movedNode, *apiServer, func()) error { return errors.New("kubelet failed") },
			want: "kubelet failed",
		},
		"kubelet does not work": {
			uid: "uid", want: "does not renew the lease",
			restart: func(_ *movedNode, next *apiServer, end func()) error {
				next.status.Store(http.StatusServiceUnavailable)
				end()
				return nil
			},
		},
		"the static pod has not worked before": {
			uid: "uid", change: func(n *movedNode, _ *apiServer) { n.local.Close() },
		},
		"the static pod does not work": {
			uid: "uid", want: "does not work with", restart: func(n *movedNode, _ *apiServer, end func()) error {
				n.local.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					end()
					w.WriteHeader(http.StatusServiceUnavailable)
				})
				return nil
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := startMovedNode(t)
			next := startAPIServer(t, n.ca, test.uid)
			if test.change != nil {
				test.change(n, next)
			}
			before := n.contents(t)
			ctx, end := context.WithCancel(t.Context())
			defer end()
			restarts := 0
			err := n.moveAPIServer(ctx, n.own, next.URL, func(context.Context) error {
				restarts++
				if test.restart != nil && restarts == 1 {
					return test.restart(n, next, end)
				}
				return nil
			})
			want := before
			if test.want == "" {
				old, renamed := strings.TrimPrefix(n.before.URL, "https://"), strings.TrimPrefix(next.URL, "https://")
				_, oldPort, _ := strings.Cut(old, ":")
				_, port, _ := strings.Cut(renamed, ":")
				want = strings.ReplaceAll(before, old, renamed)
				want = strings.Replace(want, "PORT='"+oldPort, "PORT='"+port, 1)
				want = strings.Replace(want, next.URL+" \n", next.URL+" "+n.before.URL+"\n", 1)
			}
			if (err == nil) != (test.want == "") || (err != nil && !strings.Contains(err.Error(), test.want)) {
				t.Errorf("error %v, want %q", err, test.want)
			}
			if got := n.contents(t); got != want {
				t.Errorf("%s\nwant\n%s", got, want)
			}
			if (restarts == 0) != test.isEarly {
				t.Errorf("%d restarts", restarts)
			}
			if drift, err := n.Host.Ledger.Drift(t.Context()); err != nil || len(drift) > 0 {
				t.Errorf("drift %v, %v", drift, err)
			}
		})
	}
}

// Files that the administrator has excluded remain. The kubeconfig is changed nevertheless.
func TestMoveAPIServerKeepsExcludedFiles(t *testing.T) {
	n := startMovedNode(t)
	n.Run.Config.Payload.Exclude = []string{"/etc/kubernetes/apiserver-proxy-config/*"}
	before, err := os.ReadFile(n.config)
	flowtest.NoError(t, err)
	next := startAPIServer(t, n.ca, "uid")
	flowtest.NoError(t, n.moveAPIServer(t.Context(), n.own, next.URL, func(context.Context) error { return nil }))
	after, err := os.ReadFile(n.config)
	port := "PORT='" + strings.TrimPrefix(next.URL, "https://127.0.0.1:")
	if err != nil || !bytes.Equal(before, after) || !strings.Contains(n.contents(t), port) {
		t.Errorf("%v\n%s", err, n.contents(t))
	}
}
