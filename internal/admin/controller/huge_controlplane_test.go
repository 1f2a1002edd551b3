// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package controller

import (
	"net/http"
	"path"
	"strings"
	"sync"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// readCSRs records the names of the CSRs that a controller has read.
type readCSRs struct {
	http.RoundTripper
	mu    *sync.Mutex
	names map[string]bool
}

func (r readCSRs) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.RoundTripper.RoundTrip(request)
	if dir, name := path.Split(request.URL.Path); request.Method == http.MethodGet &&
		strings.HasSuffix(dir, "/certificatesigningrequests/") {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.names[name] = true
	}
	return response, err
}

// Many CSRs of the maximum size need at most 180 MiB, far below the memory limit of the Deployment, 512 MiB: those that
// exist at the start, and those that come later. A host with a join token is admitted meanwhile.
func TestControlPlaneHugeRequestsStayWithinMemoryLimit(t *testing.T) {
	const count = 60
	flood := func(count int) (names []string) {
		annotations := map[string]string{"padding": strings.Repeat("p", 250<<10)}
		for range count {
			names = append(names, csrtest.SubmitHuge(t, "huge", nil), csrtest.SubmitHuge(t, "huge", annotations))
		}
		return names
	}
	c, read := &testController{t: t}, readCSRs{mu: &sync.Mutex{}, names: map[string]bool{}}
	hasRead := func(names []string) func() (any, bool) {
		return func() (any, bool) {
			read.mu.Lock()
			defer read.mu.Unlock()
			for _, name := range names {
				if !read.names[name] {
					return "not read: " + name, false
				}
			}
			return "", true
		}
	}
	token, later := enroll(t, "huge"), enroll(t, "huge-later")
	existing := flood(count)
	starting := csrtest.PeakMemory(func() {
		options := c.options(controllerKubeconfig)
		options.Config.Wrap(func(base http.RoundTripper) http.RoundTripper {
			read.RoundTripper = base
			return read
		})
		m, err := newManager(options, false)
		if err != nil {
			t.Fatal(err)
		}
		c.run(m, addControllers(m, options.ClusterCA))
		csr, _ := csrtest.SubmitWithToken(t, token)
		c.awaitApproved(csr)
		waittest.Until(t, "waiting for the existing CSRs", hasRead(existing))
	})
	running := csrtest.PeakMemory(func() {
		coming := flood(count / 2)
		csr, _ := csrtest.SubmitWithToken(t, later)
		c.awaitApproved(csr)
		waittest.Until(t, "waiting for the new CSRs", hasRead(coming))
	})
	t.Logf("%d MiB at the start, %d MiB later", starting, running)
	if max(starting, running) > 180 {
		t.Errorf("memory use: %d MiB at the start, %d MiB later", starting, running)
	}
	if all := c.errors(); len(all) > 0 {
		t.Errorf("logged: %+v", all)
	}
}
