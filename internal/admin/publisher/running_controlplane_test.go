// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package publisher

import (
	"context"
	"encoding/json"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// running is a publisher that runs, what it has logged, and what it has recorded.
type running struct {
	mutex    sync.Mutex
	entries  []entry
	recorded map[string]time.Time
	rounds   int // that have begun; a request that is repeated counts again
	stop     func()
}

// start starts a publisher as a part of a manager, as the program does.
func (c *clusters) start(t *testing.T, config *rest.Config, hostedCluster string) *running {
	t.Helper()
	r := &running{recorded: map[string]time.Time{}}
	m, err := manager.New(c.hostedConfig, manager.Options{Metrics: metricsserver.Options{BindAddress: "0"}})
	check(t, err)
	config = rest.CopyConfig(config)
	config.Wrap(r.countRounds)
	management, err := cluster.Open(cluster.Management, config)
	check(t, err)
	p := &Publisher{
		Management: management, Namespace: namespace, HostedCluster: hostedCluster, CredentialRemedy: remedy,
		Hosted: m.GetClient(), Live: m.GetAPIReader(), Events: m.GetEventRecorder("test"),
		Log: funcr.NewJSON(r.log, funcr.Options{}), Interval: 100 * time.Millisecond,
		Record: func(nodePool string, at time.Time) {
			r.mutex.Lock()
			defer r.mutex.Unlock()
			r.recorded[nodePool] = at
		},
	}
	check(t, m.Add(p))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(r.stop)
	return r
}

// countRounds counts the requests for the HostedCluster, with which each round begins.
func (r *running) countRounds(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if path.Base(path.Dir(request.URL.Path)) == "hostedclusters" {
			r.mutex.Lock()
			r.rounds++
			r.mutex.Unlock()
		}
		return next.RoundTrip(request)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip sends a request.
func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// awaitRounds waits until two rounds have begun and ended.
func (r *running) awaitRounds(t *testing.T) {
	t.Helper()
	begun := func() int {
		r.mutex.Lock()
		defer r.mutex.Unlock()
		return r.rounds
	}
	before := begun()
	waittest.UntilTrue(t, "two rounds", func() bool { return begun() >= before+3 })
}

func (r *running) log(line string) {
	var one entry
	if err := json.Unmarshal([]byte(line), &one); err != nil {
		one.Error = "unreadable: " + line
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.entries = append(r.entries, one)
}

// all returns the entries about a NodePool.
func (r *running) all(nodePool string) []entry {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return slices.DeleteFunc(slices.Clone(r.entries), func(one entry) bool { return one.NodePool != nodePool })
}

// await waits until the last entry about a NodePool contains a text, and returns the entry.
func (r *running) await(t *testing.T, nodePool, text string) entry {
	t.Helper()
	var last entry
	waittest.UntilTrue(t, text+" in the log about "+nodePool, func() bool {
		if all := r.all(nodePool); len(all) > 0 {
			last = all[len(all)-1]
		}
		return strings.Contains(last.Message+": "+last.Error, text)
	})
	return last
}

// last returns the time that was recorded for a NodePool.
func (r *running) last(nodePool string) (at time.Time, isRecorded bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	at, isRecorded = r.recorded[nodePool]
	return at, isRecorded
}
