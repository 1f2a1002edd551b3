// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package approver

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

// proxy forwards connections to the API server and can be cut.
type proxy struct {
	listener    net.Listener
	mu          sync.Mutex
	cut         bool
	connections []net.Conn
}

func newProxy(t *testing.T) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &proxy{listener: listener}
	t.Cleanup(func() { listener.Close(); c.setCut(true) })
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			c.forward(near)
		}
	}()
	return c
}

func (c *proxy) forward(near net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		near.Close()
		return
	}
	far, err := net.Dial("tcp", plane.APIForward)
	if err != nil {
		near.Close()
		return
	}
	c.connections = append(c.connections, near, far)
	for _, pair := range [][2]net.Conn{{near, far}, {far, near}} {
		go func() {
			_, _ = io.Copy(pair[0], pair[1])
			near.Close()
			far.Close()
		}()
	}
}

func (c *proxy) setCut(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = cut
	if cut {
		for _, end := range c.connections {
			end.Close()
		}
		c.connections = nil
	}
}

// proxiedKubeconfig returns the approver's kubeconfig with the cable as server.
func proxiedKubeconfig(t *testing.T, c *proxy) []byte {
	t.Helper()
	file, err := clientcmd.Load(fleetKubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, cluster := range file.Clusters {
		cluster.Server = "https://" + c.listener.Addr().String()
	}
	content, err := clientcmd.Write(*file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// A watching approver starts while the API server is unreachable and survives interruptions. It
// uses new enrollments, stops using withdrawn ones, and reports each problem once.
func TestControlPlaneWatchSurvivesInterruptions(t *testing.T) {
	s, c := newTestCluster(t), newProxy(t)
	c.setCut(true)
	if err := os.WriteFile(filepath.Join(s.enrollmentDir, "broken"+enrollment.EnrollmentSuffix), []byte("kind: "+
		"Enrollment\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := s.newApprover(proxiedKubeconfig(t, c))
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

	eventually(t, "a warning about the API server",
		func() bool { return warned("https://"+c.listener.Addr().String()) > 0 })
	if count("READY") != 0 {
		t.Error("READY was reported while the API server is unreachable")
	}
	if got := probe(a, "/readyz") + probe(a, "/livez"); got != "not ok\nok\n" {
		t.Errorf("the probes return %q while the API server is unreachable", got)
	}
	c.setCut(false)
	eventually(t, "READY", func() bool { return count("READY") == 1 && probe(a, "/readyz") == "ok\n" })

	early := s.newToken("watch-early", clusterCA(t), 0)
	first, _ := submitWithToken(t, early)
	awaitIssued(t, first)

	c.setCut(true)
	away, _ := submitWithToken(t, s.newToken("watch-away", clusterCA(t), 0))
	eventually(t, "another warning about the API server", func() bool { return warned("https://") > 1 })
	if csrConditions(t, away) != "" {
		t.Fatal("approved by an approver that cannot reach the API server")
	}
	if probe(a, "/readyz") != "not ok\n" {
		t.Error("the approver is ready while it cannot reach the API server")
	}
	c.setCut(false)
	awaitIssued(t, away)

	// One enrollment is added after its CSR; a different key is withdrawn.
	lateDir := newTestCluster(t)
	late := lateDir.newToken("watch-late", clusterCA(t), 0)
	lateCSR, _ := submitWithToken(t, late)
	eventually(t, "the event of the CSR without an enrollment",
		func() bool { return s.lastEvent(lateCSR).Outcome == Ignored })
	entries, err := filepath.Glob(filepath.Join(lateDir.enrollmentDir, "*"))
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	if err := os.Rename(entries[0], filepath.Join(s.enrollmentDir, "late"+enrollment.EnrollmentSuffix)); err != nil {
		t.Fatal(err)
	}
	awaitIssued(t, lateCSR)
	withdrawn := s.newToken("watch-withdrawn", clusterCA(t), 0)
	eventually(t, "the new enrollment", func() bool {
		return strings.HasPrefix(lastText(&mu, &output), "enrollments: 4;")
	})
	if err := os.Remove(filepath.Join(s.enrollmentDir,
		"watch-withdrawn-"+withdrawn.ID+enrollment.EnrollmentSuffix)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the removal of the enrollment", func() bool {
		return strings.HasPrefix(lastText(&mu, &output), "enrollments: 3;")
	})
	goneCSR, _ := submitWithToken(t, withdrawn)
	eventually(t, "the event of the withdrawn enrollment", func() bool { return s.lastEvent(goneCSR).Outcome == Ignored })

	stop()
	if err := <-done; err != nil {
		t.Errorf("Watch() = %v", err)
	}
	if count("READY") != 1 || warned("broken.enrollment: reading the enrollment") != 1 {
		t.Errorf("READY %d times, the broken enrollment %d times", count("READY"), warned("broken.enrollment"))
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
	if csrConditions(t, goneCSR) != "" {
		t.Errorf("the CSR of the withdrawn enrollment is %q", csrConditions(t, goneCSR))
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
	nodes := adminClient(t).CoreV1().Nodes()
	createNodeWithoutCleanup(t, "reborn", "192.0.2.90")
	csr, _ := submitWithToken(t, s.newToken("reborn", clusterCA(t), 0))
	a := s.newApprover(fleetKubeconfig)
	a.initialResyncDelay = time.Second
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- a.Watch(ctx) }()
	eventually(t, "the event about the existing Node", func() bool {
		recorded := s.lastEvent(csr)
		return recorded.Outcome == Refused && strings.HasPrefix(string(recorded.Remedy), "oc delete node reborn")
	})
	if err := nodes.Delete(t.Context(), "reborn", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitIssued(t, csr)
	stop()
	if err := <-done; err != nil {
		t.Errorf("Watch() = %v", err)
	}
}

func TestControlPlaneManualApproval(t *testing.T) {
	s := newTestCluster(t)
	key, other := certtest.NewKey(t), certtest.NewKey(t)
	wanted := csrRequest{client: bootstrapClient(t), key: key, node: "hand"}
	foreign := csrRequest{client: bootstrapClient(t), key: other, node: "hand"}.submit(t)
	a := s.newApprover(fleetKubeconfig)
	node := ManualApproval{NodeName: "hand", Fingerprint: enrollment.Fingerprint(&key.PublicKey)}

	err := a.ApproveManually(withTimeout(t, 3*time.Second), node)
	if err == nil || !strings.Contains(err.Error(), "waiting for a client CSR of hand with the key "+node.Fingerprint) ||
		!strings.Contains(err.Error(), enrollment.Fingerprint(&other.PublicKey)) {
		t.Errorf("ApproveManually() = %v", err)
	}
	csr := wanted.submit(t)
	for range 2 { // the second call finds the CSR approved
		if err := a.ApproveManually(withTimeout(t, time.Minute), node); err != nil ||
			csrConditions(t, csr) != approvedByAgent {
			t.Errorf("ApproveManually() = %v; the CSR is %q", err, csrConditions(t, csr))
		}
	}
	if csrConditions(t, foreign) != "" {
		t.Errorf("the other key's CSR is %q", csrConditions(t, foreign))
	}
	if err := a.ApproveManually(withTimeout(t, time.Minute),
		ManualApproval{NodeName: "hand", Fingerprint: "SHA256:abc"}); err == nil ||
		!strings.Contains(err.Error(), "not a fingerprint") {
		t.Errorf("ApproveManually() with an invalid fingerprint = %v", err)
	}
	testManualServingApproval(t, s, a)

	createNode(t, "hand-there", "192.0.2.61")
	there := csrRequest{client: bootstrapClient(t), key: other, node: "hand-there"}.submit(t)
	err = a.ApproveManually(withTimeout(t, time.Minute),
		ManualApproval{NodeName: "hand-there", Fingerprint: enrollment.Fingerprint(&other.PublicKey)})
	if err == nil || !strings.Contains(err.Error(), "Node hand-there already exists in the cluster") ||
		csrConditions(t, there) != "" {
		t.Errorf("ApproveManually() = %v; the CSR is %q", err, csrConditions(t, there))
	}
}
