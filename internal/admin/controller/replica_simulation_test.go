// SPDX-License-Identifier: Apache-2.0

//go:build faults

package controller

import (
	"context"
	"errors"
	"iter"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hcp-node-agent/hcp-node-agent/test/seeds"
)

var errKilled = errors.New("killed")

// gate stops a replica of the controller before each request to the API server. A simulation of several replicas thus
// decides which one sends its next request.
type gate struct {
	ready     chan bool  // true: a request waits for its turn; false: the reconciliation has ended
	turn      chan error // sends the request, or kills the replica
	isRunning bool
}

func newGate() *gate { return &gate{ready: make(chan bool), turn: make(chan error)} }

// request sends a request of the replica when it is its turn.
func (g *gate) request(send func() error) error {
	g.ready <- true
	if err := <-g.turn; err != nil {
		return err
	}
	return send()
}

// get, patch and patchStatus are functions of an interceptor.

func (g *gate) get(ctx context.Context, api client.WithWatch, key client.ObjectKey, into client.Object,
	options ...client.GetOption,
) error {
	return g.request(func() error { return api.Get(ctx, key, into, options...) })
}

func (g *gate) patch(ctx context.Context, api client.WithWatch, object client.Object, patch client.Patch,
	options ...client.PatchOption,
) error {
	return g.request(func() error { return api.Patch(ctx, object, patch, options...) })
}

func (g *gate) patchStatus(ctx context.Context, api client.Client, name string, object client.Object,
	patch client.Patch, options ...client.SubResourcePatchOption,
) error {
	return g.request(func() error { return api.SubResource(name).Patch(ctx, object, patch, options...) })
}

// advance lets the replica send its next request, kills it before that if failure is errKilled, or starts it. An error
// is one of the history with the seed.
func (g *gate) advance(t *testing.T, seed uint64, replica reconcile.Reconciler, failure error) {
	t.Helper()
	if g.isRunning {
		g.turn <- failure
	} else {
		go func() {
			_, err := replica.Reconcile(t.Context(), requestsFor("pool")[0])
			if err != nil && !errors.Is(err, errKilled) {
				t.Errorf("seed %d: %v", seed, err)
			}
			g.ready <- false
		}()
	}
	g.isRunning = <-g.ready
}

// histories returns the seeds of RUNS histories (default 20), from SEED on (default 0).
func histories(t *testing.T) iter.Seq[uint64] {
	t.Helper()
	first, runs := seeds.Number(t, "SEED", 0), seeds.Number(t, "RUNS", 20)
	return func(yield func(uint64) bool) {
		for i := range runs {
			if !yield(first + i) {
				return
			}
		}
	}
}
