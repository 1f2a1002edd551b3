// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

const (
	formerSecret = `{"auths":{"quay.io":{"auth":"YTpi"}}}` //nolint:gosec // of the test
	newSecret    = `{"auths":{"quay.io":{"auth":"YTpj"}}}` //nolint:gosec // of the test
)

func TestStateOfThePullSecret(t *testing.T) {
	outdated := secretFacts{
		published: node.Published{Content: []byte(newSecret), Version: "uid/2"},
		installed: []byte(formerSecret), isConfirmed: true,
	}
	for name, test := range map[string]struct {
		change func(*secretFacts)
		want   secretState
	}{
		"another one": {func(*secretFacts) {}, secretOutdated},
		"not offered": {func(f *secretFacts) { f.published = node.Published{} }, secretKept},
		"the same":    {func(f *secretFacts) { f.installed = []byte(newSecret) }, secretKept},
		"in another form": {func(f *secretFacts) {
			f.installed = []byte(strings.ReplaceAll(newSecret, ":", " : ") + "\n")
		}, secretKept},
		"one more registry": {func(f *secretFacts) {
			f.published.Content = []byte(strings.Replace(formerSecret, "}}}", `},"a.example.com":{"auth":"YTpi"}}}`, 1))
		}, secretOutdated},
		"one registry less": {func(f *secretFacts) {
			f.installed = []byte(strings.Replace(newSecret, "}}}", `},"a.example.com":{"auth":"YTpi"}}}`, 1))
		}, secretOutdated},
		"changed just now":         {func(f *secretFacts) { f.isConfirmed = false }, secretKept},
		"written by the DaemonSet": {func(f *secretFacts) { f.isSynced = true }, secretKept},
		"the administrator's":      {func(f *secretFacts) { f.isOverridden = true }, secretKept},
		"the file does not exist":  {func(f *secretFacts) { f.installed = nil }, secretKept},
		"the file is damaged":      {func(f *secretFacts) { f.installed = []byte(`{"auths":`) }, secretOutdated},
		"no JSON":                  {func(f *secretFacts) { f.published.Content = []byte("auths: {}") }, secretInvalid},
		"no key":                   {func(f *secretFacts) { f.published.Content = nil }, secretInvalid},
		"no registry":              {func(f *secretFacts) { f.published.Content = []byte(`{"auths":{}}`) }, secretInvalid},
		"an entry without credential": {func(f *secretFacts) {
			f.published.Content = []byte(`{"auths":{"a":{}}}`)
		}, secretInvalid},
		"invalid, just now": {func(f *secretFacts) {
			f.published.Content, f.isConfirmed = []byte("{}"), false
		}, secretKept},
	} {
		facts := outdated
		if test.change(&facts); facts.state() != test.want {
			t.Errorf("%s: %d, want %d", name, facts.state(), test.want)
		}
	}
}

// publishedSecret is the API server of a cluster that publishes a pull secret.
type publishedSecret struct {
	content string
	version int
	status  int               // of the response about the Secret; 0: it exists
	labels  map[string]string // of the Node
}

// publish changes the pull secret.
func (p *publishedSecret) publish(content string) { p.content, p.version = content, p.version+1 }

func (p *publishedSecret) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var object any = corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-0", Labels: p.labels}}
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path == "/api/v1/namespaces/openshift-config/secrets/pull-secret" {
		object = corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{UID: "uid", ResourceVersion: strconv.Itoa(p.version)},
			Data:       map[string][]byte{corev1.DockerConfigJsonKey: []byte(p.content)},
		}
		if p.status != 0 {
			reasons := map[int]metav1.StatusReason{
				http.StatusNotFound: metav1.StatusReasonNotFound, http.StatusForbidden: metav1.StatusReasonForbidden,
			}
			w.WriteHeader(p.status)
			object = metav1.Status{
				TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
				Reason: reasons[p.status], Code: int32(p.status), //nolint:gosec // a status of HTTP
			}
		}
	}
	_ = json.NewEncoder(w).Encode(object)
}

// secretCheckOf returns the check of a node with the former pull secret, whose cluster publishes one.
func secretCheckOf(t *testing.T, published *publishedSecret) pullSecretCheck {
	t.Helper()
	server := httptest.NewTLSServer(published)
	t.Cleanup(server.Close)
	check := monitorAt(t, server).pullSecretCheck()
	check.path = filepath.Join(t.TempDir(), "config.json")
	flowtest.NoError(t, os.WriteFile(check.path, []byte(formerSecret), 0o600))
	check.isServed = func(context.Context) (bool, error) { return true, nil }
	check.isHosted = true
	return check
}

// stateAfter returns the decision of a check after a time.
func (c pullSecretCheck) stateAfter(t *testing.T, after time.Duration) secretState {
	t.Helper()
	facts, err := c.gather(t.Context(), time.Unix(1795290000, 0).Add(after))
	flowtest.NoError(t, err)
	return facts.state()
}

// A changed pull secret is used if it was unchanged for some minutes.
func TestPullSecretMustBeUnchangedForMinutes(t *testing.T) {
	published := &publishedSecret{}
	check := secretCheckOf(t, published)
	for _, step := range []struct {
		publish string
		after   time.Duration
		want    secretState
	}{
		{formerSecret, 0, secretKept},
		{newSecret, 10 * time.Minute, secretKept},
		{"", 13 * time.Minute, secretKept},
		{"", 14 * time.Minute, secretOutdated},
		{"{}", 20 * time.Minute, secretKept},
		{newSecret, 30 * time.Minute, secretKept},
		{"", 40 * time.Minute, secretOutdated},
		{"{}", 50 * time.Minute, secretKept},
		{"", 60 * time.Minute, secretInvalid},
		{formerSecret, 70 * time.Minute, secretKept},
		{"", 80 * time.Minute, secretKept},
	} {
		if step.publish != "" {
			published.publish(step.publish)
		}
		if got := check.stateAfter(t, step.after); got != step.want {
			t.Errorf("after %s: %d, want %d", step.after, got, step.want)
		}
	}
}

// Nothing is found where the cluster does not offer its pull secret, where HyperShift's DaemonSet writes the file, on a
// standalone cluster, and if the administrator has another file. The DaemonSet may also be enabled after a renewal.
func TestPullSecretOfOthers(t *testing.T) {
	for name, change := range map[string]func(*publishedSecret, *pullSecretCheck){
		"not offered": func(p *publishedSecret, _ *pullSecretCheck) { p.status = http.StatusNotFound },
		"forbidden":   func(p *publishedSecret, _ *pullSecretCheck) { p.status = http.StatusForbidden },
		"DaemonSet":   func(p *publishedSecret, _ *pullSecretCheck) { p.labels[syncer] = "true" },
		"standalone":  func(_ *publishedSecret, c *pullSecretCheck) { c.isHosted = false },
		"own file": func(_ *publishedSecret, c *pullSecretCheck) {
			c.isServed = func(context.Context) (bool, error) { return false, nil }
		},
	} {
		published := &publishedSecret{labels: map[string]string{}}
		check := secretCheckOf(t, published)
		published.publish(newSecret)
		check.confirmAfter = 0
		found, err := check.find(t.Context())
		if err != nil || len(found) != 1 || found[0].Reason != report.PullSecretOutdated {
			t.Fatalf("%s, before: %+v, %v", name, found, err)
		}
		change(published, &check)
		if found, err := check.find(t.Context()); err != nil || len(found) > 0 {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
	}
}

const syncer = "hypershift.openshift.io/nodepool-globalps-enabled"

// An API server that does not respond makes the check incomplete.
func TestPullSecretOfAnUnreachableCluster(t *testing.T) {
	published := &publishedSecret{status: http.StatusInternalServerError}
	check := secretCheckOf(t, published)
	if found, err := check.find(t.Context()); err == nil || len(found) > 0 {
		t.Errorf("%+v, %v", found, err)
	}
}

// The finding names why a pull secret was refused, until the cluster publishes another one.
func TestFindingNamesTheRefusal(t *testing.T) {
	published := &publishedSecret{}
	check := secretCheckOf(t, published)
	check.confirmAfter = 0
	message := func() string {
		t.Helper()
		found, err := check.find(t.Context())
		if err != nil || len(found) != 1 {
			t.Fatalf("%+v, %v", found, err)
		}
		return string(found[0].Reason) + " " + found[0].Message
	}
	published.publish(newSecret)
	before := message()
	check.observed.refusal = "quay.io rejects it"
	if got := message(); got != before+": quay.io rejects it" {
		t.Errorf("%q after %q", got, before)
	}
	published.publish(newSecret)
	if got := message(); got != before {
		t.Errorf("after another change: %q", got)
	}
	published.publish("{}")
	if got := message(); !strings.HasPrefix(got, "PullSecretInvalid Secret openshift-config/pull-secret of the cluster") {
		t.Errorf("an invalid one: %q", got)
	}
}

// A repair uses only the pull secret that the check has confirmed.
func TestRepairRefusesAPullSecretThatChangedSinceTheCheck(t *testing.T) {
	published := &publishedSecret{}
	check := secretCheckOf(t, published)
	published.publish(newSecret)
	*check.observed = secretObservation{observation: observation{version: "uid/1", since: time.Now().Add(-time.Hour)}}
	if found, err := check.find(t.Context()); err != nil || len(found) != 1 {
		t.Fatalf("confirmed: %+v, %v", found, err)
	}
	published.publish(newSecret)
	_, err := check.repair(t.Context(), request.Options{StateDir: t.TempDir()})
	if report.CodeOf(err) != report.Failed || !strings.Contains(err.Error(), "has changed since the check") {
		t.Errorf("%v", err)
	}
	if content, _ := os.ReadFile(check.path); string(content) != formerSecret {
		t.Errorf("the file contains %s", content)
	}
}
