// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

// publishedAPIServer is the API server of a cluster whose Infrastructure names URLs of it.
type publishedAPIServer struct {
	internal, external string
	version            int
	requests           int
}

func (p *publishedAPIServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.requests++
	if r.URL.Path != "/apis/config.openshift.io/v1/infrastructures/cluster" || p.version == 0 {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"metadata": map[string]any{"uid": "uid", "resourceVersion": fmt.Sprint(p.version)},
		"status":   map[string]any{"apiServerInternalURL": p.internal, "apiServerURL": p.external},
	})
}

func (p *publishedAPIServer) publish(internal string) {
	p.internal, p.external, p.version = internal, internal, p.version+1
}

// apiServerCheckOf returns the check of a node of the cluster, and the URL that the node uses. Other URLs are of the
// same cluster.
func apiServerCheckOf(t *testing.T, published *publishedAPIServer) (apiServerCheck, string) {
	t.Helper()
	server := httptest.NewTLSServer(published)
	t.Cleanup(server.Close)
	check := monitorAt(t, server).apiServerCheck()
	check.isHosted, check.confirmAfter = true, 0
	check.checkMove = func(context.Context, string) error { return nil }
	return check, server.URL
}

func TestNextAPIServer(t *testing.T) {
	const used, moved = "https://api.example.com:6443", "https://new.example.com:6443"
	const private = "https://api.hc.hypershift.local:6443"
	for name, test := range map[string]struct {
		internal, external string
		unpublished        bool
		unconfirmed        bool
		want               string
	}{
		"the same":                 {internal: used, external: used},
		"another form":             {internal: "https://API.example.com:6443/", external: used},
		"moved":                    {internal: moved, external: moved, want: moved},
		"another port":             {internal: "https://api.example.com:31234", want: "https://api.example.com:31234"},
		"the node uses the other":  {internal: private, external: used},
		"private":                  {internal: used, external: moved},
		"became private":           {internal: private, external: moved, want: private},
		"not published":            {internal: moved, unpublished: true},
		"not confirmed":            {internal: moved, unconfirmed: true},
		"empty":                    {},
		"no HTTPS":                 {internal: "http://new.example.com:6443"},
		"without host":             {internal: "https://:6443"},
		"before it has an address": {internal: "https://:0", external: "https://:0"},
		"not a URL":                {internal: "https://%"},
		"IPv6 without brackets":    {internal: "https://fd00::1:6443", want: "https://[fd00::1]:6443"},
		"the default port":         {internal: "https://a", want: "https://a:443"},
	} {
		facts := apiServerFacts{
			published: node.APIServers{Internal: test.internal, External: test.external, Version: "uid/1"},
			used:      used, isConfirmed: !test.unconfirmed,
		}
		if test.unpublished {
			facts.published.Version = ""
		}
		if got := facts.next(); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestAPIServerMustBeUnchangedForMinutes(t *testing.T) {
	published := &publishedAPIServer{}
	c, used := apiServerCheckOf(t, published)
	c.confirmAfter = renewalConfirmation
	start := time.Unix(1795290000, 0)
	check := func(after time.Duration, want string) {
		t.Helper()
		facts, err := c.gather(t.Context(), start.Add(after))
		if err != nil || facts.next() != want {
			t.Errorf("after %s: %q, %v, want %q", after, facts.next(), err, want)
		}
	}
	check(0, "")
	published.publish(used)
	check(time.Minute, "")
	check(10*time.Minute, "")
	published.publish("https://new:443")
	check(20*time.Minute, "")
	check(23*time.Minute, "")
	check(24*time.Minute, "https://new:443")
	published.publish("https://newer")
	check(25*time.Minute, "")
	published.publish(used)
	check(40*time.Minute, "")
}

func TestAPIServerFindings(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*publishedAPIServer, *apiServerCheck)
		want   report.Reason
		text   string
	}{
		"moved": {want: report.APIServerMoved, text: "has moved from https://127.0.0.1:"},
		"unusable": {
			change: func(_ *publishedAPIServer, c *apiServerCheck) {
				c.checkMove = func(context.Context, string) error { return errors.New("another cluster") }
			},
			want: report.NewAPIServerUnusable, text: "cannot use: another cluster",
		},
		"not offered": {change: func(p *publishedAPIServer, _ *apiServerCheck) { p.version = 0 }},
		"standalone":  {change: func(_ *publishedAPIServer, c *apiServerCheck) { c.isHosted = false }},
	} {
		published := &publishedAPIServer{}
		c, _ := apiServerCheckOf(t, published)
		published.publish("https://new.example.com:6443")
		if test.change != nil {
			test.change(published, &c)
		}
		found, err := c.find(t.Context())
		if err != nil || (len(found) == 1) != (test.want != "") {
			t.Errorf("%s: %+v, %v", name, found, err)
			continue
		}
		if test.want != "" && (found[0].Reason != test.want || !strings.Contains(found[0].Message, test.text)) {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

// A repair uses no other URL than the one that the check has confirmed.
func TestRepairRefusesAnAPIServerThatChangedSinceTheCheck(t *testing.T) {
	published := &publishedAPIServer{}
	c, _ := apiServerCheckOf(t, published)
	c.confirmAfter = renewalConfirmation
	published.publish("https://new.example.com:6443")
	*c.observed = observation{version: "uid/1", since: time.Now().Add(-time.Hour)}
	if found, err := c.find(t.Context()); err != nil || len(found) != 1 {
		t.Fatalf("confirmed: %+v, %v", found, err)
	}
	published.publish("https://newer.example.com:6443")
	_, err := c.repair(t.Context(), request.Options{StateDir: t.TempDir()})
	if report.CodeOf(err) != report.Failed || !strings.Contains(err.Error(), "has changed since the check") {
		t.Errorf("%v", err)
	}
}

// The check of the real monitor compares the Node at both URLs.
func TestAPIServerOfAnotherCluster(t *testing.T) {
	nodes := func(uid string) *httptest.Server {
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"kind":"Node","apiVersion":"v1","metadata":{"name":"worker-0","uid":%q}}`, uid)
		}))
		t.Cleanup(server.Close)
		return server
	}
	present := nodes("a")
	check := monitorAt(t, present).apiServerCheck() // all test servers have the same certificate
	flowtest.NoError(t, check.checkMove(t.Context(), nodes("a").URL))
	err := check.checkMove(t.Context(), nodes("b").URL)
	if report.CodeOf(err) != report.Refused || !strings.Contains(err.Error(), "of another cluster") {
		t.Errorf("another UID: %v", err)
	}
}
