// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

// publishedBundle is the API server of a cluster that publishes a trust bundle.
type publishedBundle struct {
	bundle  []byte
	version int
}

func (p *publishedBundle) publish(bundle ...[]byte) {
	p.bundle, p.version = slices.Concat(bundle...), p.version+1
}

func (p *publishedBundle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/api/v1/namespaces/openshift-config/configmaps/user-ca-bundle" || p.version == 0 {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{UID: "uid", ResourceVersion: strconv.Itoa(p.version)},
		Data:       map[string]string{"ca-bundle.crt": string(p.bundle)},
	})
}

// bundleCheckOf returns the check of a node of the cluster, whose files contain the CAs.
func bundleCheckOf(t *testing.T, published *publishedBundle, files ...[]byte) trustBundleCheck {
	t.Helper()
	server := httptest.NewTLSServer(published)
	t.Cleanup(server.Close)
	check := monitorAt(t, server).trustBundleCheck()
	dir := t.TempDir()
	check.paths = []string{filepath.Join(dir, "bundle"), filepath.Join(dir, "added")}
	for i, content := range files {
		flowtest.NoError(t, os.WriteFile(check.paths[i], content, 0o600))
	}
	check.isServed = func(context.Context) (bool, error) { return true, nil }
	check.isHosted = true
	return check
}

func TestTrustBundleMustBeUnchangedForMinutes(t *testing.T) {
	first, second := certtest.NewCA(t, "1").PEM, certtest.NewCA(t, "2").PEM
	published := &publishedBundle{}
	c := bundleCheckOf(t, published, first)
	start := time.Unix(1795290000, 0)
	check := func(after time.Duration, want int) {
		t.Helper()
		_, missing, err := c.missing(t.Context(), start.Add(after))
		if err != nil || len(missing) != want {
			t.Errorf("after %s: %d new CAs, want %d; %v", after, len(missing), want, err)
		}
	}
	check(0, 0)
	published.publish(first)
	check(time.Minute, 0)
	check(10*time.Minute, 0)
	published.publish(first, second)
	check(20*time.Minute, 0)
	check(23*time.Minute, 0)
	check(24*time.Minute, 1)
	published.publish(first, second)
	check(25*time.Minute, 0)
	check(30*time.Minute, 1)
}

func TestTrustBundleThatNeedsNoChange(t *testing.T) {
	first, second := certtest.NewCA(t, "1").PEM, certtest.NewCA(t, "2").PEM
	for name, test := range map[string]struct {
		files  [][]byte
		bundle []byte
		change func(*trustBundleCheck)
		want   int
	}{
		"a new CA":                 {files: [][]byte{first}, bundle: slices.Concat(first, second), want: 1},
		"the first CA":             {files: [][]byte{nil}, bundle: first, want: 1},
		"no file":                  {bundle: first, want: 1},
		"CAs of the proxy as well": {files: [][]byte{slices.Concat(first, second)}, bundle: first},
		"added before":             {files: [][]byte{first, second}, bundle: slices.Concat(second, first)},
		"without a line feed":      {files: [][]byte{first[:len(first)-1], second}, bundle: slices.Concat(second, first)},
		"no CA":                    {files: [][]byte{first}},
		"standalone": {
			bundle: first, change: func(c *trustBundleCheck) { c.isHosted = false },
		},
		"excluded": {bundle: first, change: func(c *trustBundleCheck) {
			c.isServed = func(context.Context) (bool, error) { return false, nil }
		}},
	} {
		published := &publishedBundle{}
		published.publish(test.bundle)
		c := bundleCheckOf(t, published, test.files...)
		c.confirmAfter = 0
		if test.change != nil {
			test.change(&c)
		}
		found, err := c.find(t.Context())
		if err != nil || len(found) != test.want {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
		if test.want > 0 && found[0].Reason != report.TrustBundleOutdated {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

func TestInvalidTrustBundle(t *testing.T) {
	published := &publishedBundle{}
	published.publish([]byte("no CA"))
	c := bundleCheckOf(t, published)
	c.confirmAfter = 0
	if found, err := c.find(t.Context()); err == nil || !strings.Contains(err.Error(), "trust bundle") {
		t.Errorf("%+v, %v", found, err)
	}
}

// A repair adds no other CAs than those that the check has confirmed.
func TestRepairRefusesABundleThatChangedSinceTheCheck(t *testing.T) {
	published := &publishedBundle{}
	c := bundleCheckOf(t, published)
	published.publish(certtest.NewCA(t, "1").PEM)
	*c.observed = observation{version: "uid/1", since: time.Now().Add(-time.Hour)}
	if found, err := c.find(t.Context()); err != nil || len(found) != 1 {
		t.Fatalf("confirmed: %+v, %v", found, err)
	}
	published.publish(certtest.NewCA(t, "2").PEM)
	_, err := c.repair(t.Context(), request.Options{StateDir: t.TempDir()})
	if report.CodeOf(err) != report.Failed || !strings.Contains(err.Error(), "has changed since the check") {
		t.Errorf("%v", err)
	}
}
