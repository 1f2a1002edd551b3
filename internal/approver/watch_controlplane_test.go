// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package approver

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
)

// A watching approver starts while the API server is unreachable and survives interruptions. It
// uses new enrollments, stops using withdrawn ones, and reports each problem once.
func TestControlPlaneWatchSurvivesInterruptions(t *testing.T) {
	s, c := newTestCluster(t), csrtest.NewProxy(t)
	c.SetCut(true)
	if err := os.WriteFile(filepath.Join(s.enrollmentDir, "broken"+enrollment.EnrollmentSuffix), []byte("kind: "+
		"Enrollment\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := s.newApprover(c.Kubeconfig(t, fleetKubeconfig))
	var mu sync.Mutex
	var output []string
	count := func(part string) int {
		mu.Lock()
		defer mu.Unlock()
		return len(slices.DeleteFunc(slices.Clone(output), func(text string) bool { return !strings.Contains(text, part) }))
	}
	a.options.OnStatus = func(text string) { mu.Lock(); output = append(output, text); mu.Unlock() }
	a.options.OnReady = func() { a.options.OnStatus("READY") }
	warned := func(part string) int {
		all := s.allEvents()
		return len(slices.DeleteFunc(all, func(recorded Event) bool {
			return recorded.Outcome != Warning || !strings.Contains(recorded.Reason, part)
		}))
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- a.Watch(ctx) }()

	kubetest.WaitUntil(t, "a warning about the API server",
		func() bool { return warned(c.Server()) > 0 })
	if count("READY") != 0 {
		t.Error("READY was reported while the API server is unreachable")
	}
	if got := probe(a, "/readyz") + probe(a, "/livez"); got != "not ok\nok\n" {
		t.Errorf("the probes return %q while the API server is unreachable", got)
	}
	c.SetCut(false)
	kubetest.WaitUntil(t, "READY", func() bool { return count("READY") == 1 && probe(a, "/readyz") == "ok\n" })

	early := s.newToken("watch-early", csrtest.ClusterCA(t), 0)
	first, _ := csrtest.SubmitWithToken(t, early)
	csrtest.AwaitIssued(t, first)

	c.SetCut(true)
	away, _ := csrtest.SubmitWithToken(t, s.newToken("watch-away", csrtest.ClusterCA(t), 0))
	kubetest.WaitUntil(t, "another warning about the API server", func() bool { return warned("https://") > 1 })
	if csrtest.Conditions(t, away) != "" {
		t.Fatal("approved by an approver that cannot reach the API server")
	}
	if probe(a, "/readyz") != "not ok\n" {
		t.Error("the approver is ready while it cannot reach the API server")
	}
	c.SetCut(false)
	csrtest.AwaitIssued(t, away)

	// One enrollment is added after its CSR; a different key is withdrawn.
	lateDir := newTestCluster(t)
	late := lateDir.newToken("watch-late", csrtest.ClusterCA(t), 0)
	lateCSR, _ := csrtest.SubmitWithToken(t, late)
	kubetest.WaitUntil(t, "the event of the CSR without an enrollment",
		func() bool { return s.lastEvent(lateCSR).Outcome == Ignored })
	entries, err := filepath.Glob(filepath.Join(lateDir.enrollmentDir, "*"))
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	if err := os.Rename(entries[0], filepath.Join(s.enrollmentDir, "late"+enrollment.EnrollmentSuffix)); err != nil {
		t.Fatal(err)
	}
	csrtest.AwaitIssued(t, lateCSR)
	withdrawn := s.newToken("watch-withdrawn", csrtest.ClusterCA(t), 0)
	kubetest.WaitUntil(t, "the new enrollment", func() bool {
		return strings.HasPrefix(lastText(&mu, &output), "enrollments: 4;")
	})
	if err := os.Remove(filepath.Join(s.enrollmentDir,
		"watch-withdrawn-"+withdrawn.ID+enrollment.EnrollmentSuffix)); err != nil {
		t.Fatal(err)
	}
	kubetest.WaitUntil(t, "the removal of the enrollment", func() bool {
		return strings.HasPrefix(lastText(&mu, &output), "enrollments: 3;")
	})
	goneCSR, _ := csrtest.SubmitWithToken(t, withdrawn)
	kubetest.WaitUntil(t, "the event of the withdrawn enrollment", func() bool {
		return s.lastEvent(goneCSR).Outcome == Ignored
	})

	stop()
	if err := <-done; err != nil {
		t.Errorf("Watch() = %v", err)
	}
	if count("READY") != 1 || warned("broken.yaml: reading the enrollment") != 1 {
		t.Errorf("READY %d times, the broken enrollment %d times", count("READY"), warned("broken.yaml"))
	}
	seen := map[string]int{}
	for _, recorded := range s.allEvents() {
		if recorded.CSR != "" {
			seen[recorded.CSR+" "+string(recorded.Outcome)+" "+recorded.Reason]++
		}
	}
	for line, times := range seen {
		if times != 1 {
			t.Errorf("reported %d times: %s", times, line)
		}
	}
	if csrtest.Conditions(t, goneCSR) != "" {
		t.Errorf("the CSR of the withdrawn enrollment is %q", csrtest.Conditions(t, goneCSR))
	}
}

func lastText(mu *sync.Mutex, output *[]string) string {
	mu.Lock()
	defer mu.Unlock()
	return (*output)[len(*output)-1]
}

// After a Node is deleted, the CSR of its reinstalled host is approved without a new CSR or a
// restart.
func TestControlPlaneDeletedNodeCanRejoin(t *testing.T) {
	s := newTestCluster(t)
	nodes := kubetest.AdminClient(t).CoreV1().Nodes()
	csrtest.CreateNode(t, "reborn", "192.0.2.90")
	csr, _ := csrtest.SubmitWithToken(t, s.newToken("reborn", csrtest.ClusterCA(t), 0))
	a := s.newApprover(fleetKubeconfig)
	a.initialResyncDelay = time.Second
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- a.Watch(ctx) }()
	kubetest.WaitUntil(t, "the event about the existing Node", func() bool {
		recorded := s.lastEvent(csr)
		return recorded.Outcome == Refused && strings.HasPrefix(string(recorded.Remedy), "oc delete node reborn")
	})
	if err := nodes.Delete(t.Context(), "reborn", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	csrtest.AwaitIssued(t, csr)
	stop()
	if err := <-done; err != nil {
		t.Errorf("Watch() = %v", err)
	}
}

func TestControlPlaneManualApproval(t *testing.T) {
	s := newTestCluster(t)
	key, other := certtest.NewKey(t), certtest.NewKey(t)
	wanted := csrtest.ClientRequest{Client: csrtest.Bootstrapper(t), Key: key, Node: "hand"}
	foreign := csrtest.ClientRequest{Client: csrtest.Bootstrapper(t), Key: other, Node: "hand"}.Submit(t)
	a := s.newApprover(fleetKubeconfig)
	node := ManualApproval{NodeName: "hand", Fingerprint: enrollment.Fingerprint(&key.PublicKey)}

	err := a.ApproveManually(kubetest.Context(t, 3*time.Second), node)
	if err == nil || !strings.Contains(err.Error(), "waiting for a client CSR of hand with the key "+node.Fingerprint) ||
		!strings.Contains(err.Error(), enrollment.Fingerprint(&other.PublicKey)) {
		t.Errorf("ApproveManually() = %v", err)
	}
	csr := wanted.Submit(t)
	for range 2 { // the second call finds the CSR approved
		if err := a.ApproveManually(kubetest.Context(t, time.Minute), node); err != nil ||
			csrtest.Conditions(t, csr) != approvedByAgent {
			t.Errorf("ApproveManually() = %v; the CSR is %q", err, csrtest.Conditions(t, csr))
		}
	}
	if csrtest.Conditions(t, foreign) != "" {
		t.Errorf("the other key's CSR is %q", csrtest.Conditions(t, foreign))
	}
	if err := a.ApproveManually(kubetest.Context(t, time.Minute),
		ManualApproval{NodeName: "hand", Fingerprint: "SHA256:abc"}); err == nil ||
		!strings.Contains(err.Error(), "not a fingerprint") {
		t.Errorf("ApproveManually() with an invalid fingerprint = %v", err)
	}
	testManualServingApproval(t, s, a)

	csrtest.CreateNode(t, "hand-there", "192.0.2.61")
	there := csrtest.ClientRequest{Client: csrtest.Bootstrapper(t), Key: other, Node: "hand-there"}.Submit(t)
	err = a.ApproveManually(kubetest.Context(t, time.Minute),
		ManualApproval{NodeName: "hand-there", Fingerprint: enrollment.Fingerprint(&other.PublicKey)})
	if err == nil || !strings.Contains(err.Error(), "Node hand-there already exists in the cluster") ||
		csrtest.Conditions(t, there) != "" {
		t.Errorf("ApproveManually() = %v; the CSR is %q", err, csrtest.Conditions(t, there))
	}
}
