// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/hostclass"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/internal/upgrade"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

func TestPermission(t *testing.T) {
	offered := Permission{Secret: "user-data-workers", Next: "new"}
	permitted := Permission{Secret: "user-data-workers", Next: "new", Config: "new", Slot: "7"}
	for _, test := range []struct {
		name             string
		permission       Permission
		current          string
		last             joinstate.Attempt
		class            hostclass.Class
		upgrade, prepare bool
	}{
		{"nothing", Permission{}, "old", joinstate.Attempt{}, "", false, false},
		{"offered", offered, "old", joinstate.Attempt{}, "", false, true},
		{"offered to RHCOS", offered, "old", joinstate.Attempt{}, hostclass.CoreOS, false, false},
		{"offered what the node has", offered, "new", joinstate.Attempt{}, "", false, false},
		{"offered what has failed", offered, "old", joinstate.Attempt{Slot: "6", Config: "new", Failure: "x"}, "", false, false},
		{"offered after another failure", offered, "old", joinstate.Attempt{Slot: "6", Config: "a", Failure: "x"}, "", false, true},
		{"permitted", permitted, "old", joinstate.Attempt{}, "", true, false},
		{"permitted on RHCOS", permitted, "old", joinstate.Attempt{}, hostclass.CoreOS, true, false},
		{"permitted what the node has", permitted, "new", joinstate.Attempt{}, "", false, false},
		{"permitted, but attempted", permitted, "old", joinstate.Attempt{Slot: "7", Config: "new"}, "", false, false},
		{"permitted again", permitted, "old", joinstate.Attempt{Slot: "6", Config: "new", Failure: "x"}, "", true, false},
		{"without a configuration", Permission{Secret: "s", Slot: "7"}, "old", joinstate.Attempt{}, "", false, false},
		{"without user data", Permission{Config: "new", Slot: "7"}, "old", joinstate.Attempt{}, "", false, false},
	} {
		if got := test.permission.MustUpgrade(test.current, test.last); got != test.upgrade {
			t.Errorf("%s: upgrade %t", test.name, got)
		}
		if got := test.permission.mustPrepare(test.current, test.last, test.class); got != test.prepare {
			t.Errorf("%s: prepare %t", test.name, got)
		}
	}
}

// Each configuration is prepared once, after a delay.
func TestPreparationIsDelayed(t *testing.T) {
	var r rollout
	now := time.Now()
	if r.mayPrepare("a", now) {
		t.Error("prepared at once")
	}
	if !r.mayPrepare("a", now.Add(maxPrepareDelay)) {
		t.Error("not prepared after the longest delay")
	}
	if r.mayPrepare("a", now.Add(24*time.Hour)) {
		t.Error("prepared again")
	}
	if r.mayPrepare("b", now.Add(24*time.Hour)) || !r.mayPrepare("b", now.Add(25*time.Hour)) {
		t.Error("the next configuration is not prepared after its delay")
	}
}

// cluster is an API server with one Node, its pods, and one Secret.
type cluster struct {
	node   corev1.Node
	pods   corev1.PodList
	secret *corev1.Secret // nil: the node may not get it
	change func()         // before a write; nil: nothing changes
}

func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.URL.Path == "/api/v1/nodes/worker-0" && r.Method == http.MethodPatch:
		if c.change != nil {
			c.change()
		}
		patched := corev1.Node{}
		if err := json.NewDecoder(r.Body).Decode(&patched); err != nil || patched.ResourceVersion != c.node.ResourceVersion {
			w.WriteHeader(http.StatusConflict)
			_ = json.NewEncoder(w).Encode(metav1.Status{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
				Status:   "Failure", Reason: metav1.StatusReasonConflict, Code: http.StatusConflict, Message: "changed",
			})
			return
		}
		maps.Copy(c.node.Annotations, patched.Annotations)
		_ = json.NewEncoder(w).Encode(c.node)
	case r.URL.Path == "/api/v1/nodes/worker-0":
		_ = json.NewEncoder(w).Encode(c.node)
	case r.URL.Path == "/api/v1/namespaces/hcp-node-admin/secrets/user-data-workers" && c.secret != nil:
		_ = json.NewEncoder(w).Encode(c.secret)
	case r.URL.Path == "/api/v1/pods":
		_ = json.NewEncoder(w).Encode(c.pods)
	default:
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
			Status:   "Failure", Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden, Message: "forbidden",
		})
	}
}

// newRollout returns the monitor of a node with configuration 11, which may upgrade to another one, and its cluster.
func newRollout(t *testing.T, slot, config string) (*nodeMonitor, *cluster) {
	t.Helper()
	c := &cluster{secret: &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		Data: map[string][]byte{
			v1alpha1.UserDataKey: flowtest.EncodeUserData(t, "ignition.example.com", "clusters/workers", "22"),
		},
	}}
	v1alpha1.PublishedState{DrainTimeout: time.Hour}.WriteTo(c.secret)
	c.node.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}
	c.node.ResourceVersion = "1"
	c.pods.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}
	c.node.Annotations = map[string]string{
		v1alpha1.AnnotationUserData: "user-data-workers", v1alpha1.AnnotationNextConfig: config,
		v1alpha1.AnnotationDesiredConfig: config, v1alpha1.AnnotationSlot: slot,
	}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	conn, err := kube.Connect(&rest.Config{Host: server.URL}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := &nodeMonitor{
		Options: Options{Options: request.Options{StateDir: t.TempDir()}},
		node:    &node.Node{Conn: conn, Name: "worker-0"},
		state:   joinstate.State{NodeName: "worker-0", ConfigHash: "11"},
		wake:    make(chan string, 4),
	}
	m.rollout.begin = func(run func(context.Context)) { go run(t.Context()) }
	return m, c
}

// check runs the check once, and waits for the run that it starts.
func (m *nodeMonitor) check(t *testing.T) {
	t.Helper()
	if found, err := m.checkRollout(t.Context()); len(found) > 0 || err != nil {
		t.Fatal(found, err)
	}
	m.rollout.wait()
}

func lastAttempt(t *testing.T, m *nodeMonitor) joinstate.Attempt {
	t.Helper()
	last, err := joinstate.LoadAttempt(m.StateDir)
	flowtest.NoError(t, err)
	return last
}

// A slot permits one attempt, whatever its outcome. A failure is reported with the ID of the slot.
func TestSlotIsUsedOnce(t *testing.T) {
	errBroken := errors.New("kubelet did not start")
	for name, test := range map[string]struct {
		change  func(*cluster)
		err     error // of the upgrade
		runs    int
		failure string
	}{
		"upgraded":      {func(*cluster) {}, nil, 1, ""},
		"failed":        {func(*cluster) {}, errBroken, 1, "kubelet did not start"},
		"forbidden":     {func(c *cluster) { c.secret = nil }, nil, 0, "the node may not get Secret user-data-workers"},
		"not user data": {func(c *cluster) { c.secret.Data = nil }, nil, 0, "Secret user-data-workers: "},
		"other user data": {
			func(c *cluster) {
				c.secret.Data[v1alpha1.UserDataKey] = flowtest.EncodeUserData(t, "ignition.example.com", "clusters/workers", "33")
			}, nil, 0, "Secret user-data-workers has configuration 33 now; permitted is the upgrade to 22",
		},
	} {
		m, c := newRollout(t, "7", "22")
		c.node.Annotations[v1alpha1.AnnotationAllowMajor] = "true"
		test.change(c)
		runs := 0
		m.rollout.upgrade = func(_ context.Context, userData []byte, o upgrade.Options) error {
			runs++
			if o.Stage || !o.AllowMajor || o.DrainTimeout != time.Hour || len(userData) == 0 || lastAttempt(t, m).Slot != "7" {
				t.Errorf("%s: options %+v with %d bytes, recorded %+v", name, o, len(userData), lastAttempt(t, m))
			}
			return test.err
		}
		m.check(t)
		m.check(t)
		last := lastAttempt(t, m)
		if runs != test.runs || last.Slot != "7" || last.Config != "22" || last.Ended.IsZero() ||
			!strings.HasPrefix(last.Failure, test.failure) || (last.Failure == "") != (test.failure == "") {
			t.Errorf("%s: %d runs, recorded %+v", name, runs, last)
		}
		annotations := annotationsOf(reportedFacts{state: m.state, attempt: last})
		if got := annotations[v1alpha1.AnnotationFailedSlot]; (got == "7") != (test.failure != "") {
			t.Errorf("%s: reported as failed is slot %q", name, got)
		}
	}
}

// While the upgrade runs, the state is reported, and no other run begins.
func TestReportDuringUpgrade(t *testing.T) {
	m, _ := newRollout(t, "7", "22")
	begun, end := make(chan struct{}), make(chan struct{})
	m.rollout.upgrade = func(context.Context, []byte, upgrade.Options) error {
		report.Log{Sink: &m.rollout.progress, Step: "drain"}.Wait("waiting for the eviction of pod a/b", "")
		close(begun)
		<-end
		return nil
	}
	_, err := m.checkRollout(t.Context())
	flowtest.NoError(t, err)
	<-begun
	_, err = m.checkRollout(t.Context())
	flowtest.NoError(t, err)
	facts := m.reportedFacts(nil)
	if state, reason := agentState(facts); state != v1alpha1.AgentUpgrading ||
		reason != "waiting for the eviction of pod a/b" {
		t.Errorf("reported as %s: %s", state, reason)
	}
	close(end)
	m.rollout.wait()
	if state, _ := agentState(m.reportedFacts(nil)); state != v1alpha1.AgentHealthy {
		t.Errorf("reported as %s after the end", state)
	}
}

// A failed preparation is repeated later, and is no failure of an upgrade.
func TestPreparation(t *testing.T) {
	m, c := newRollout(t, "", "")
	c.node.Annotations[v1alpha1.AnnotationNextConfig] = "22"
	runs := 0
	m.rollout.upgrade = func(_ context.Context, _ []byte, o upgrade.Options) error {
		if !o.Stage {
			t.Error("the node is upgraded without a slot")
		}
		runs++
		return errors.New("no space")
	}
	m.check(t)
	m.rollout.prepareAt = time.Now()
	m.check(t)
	m.check(t)
	if runs != 1 || time.Until(m.rollout.prepareAt) < prepareRetry/2 {
		t.Errorf("%d runs, the next in %s", runs, time.Until(m.rollout.prepareAt))
	}
	if last := lastAttempt(t, m); last.Slot != "" {
		t.Errorf("recorded as %+v", last)
	}
}
