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

	"github.com/hcp-node-agent/hcp-node-agent/internal/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ticket"
)

// cable forwards connections to the API server and can be cut.
type cable struct {
	listener net.Listener
	mu       sync.Mutex
	cut      bool
	ends     []net.Conn
}

func newCable(t *testing.T) *cable {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{listener: listener}
	t.Cleanup(func() { listener.Close(); c.set(true) })
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			c.join(near)
		}
	}()
	return c
}

func (c *cable) join(near net.Conn) {
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
	c.ends = append(c.ends, near, far)
	for _, pair := range [][2]net.Conn{{near, far}, {far, near}} {
		go func() {
			_, _ = io.Copy(pair[0], pair[1])
			near.Close()
			far.Close()
		}()
	}
}

func (c *cable) set(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = cut
	if cut {
		for _, end := range c.ends {
			end.Close()
		}
		c.ends = nil
	}
}

// throughCable returns the approver's kubeconfig with the cable as server.
func throughCable(t *testing.T, c *cable) []byte {
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
func TestControlPlaneWatchGoesOn(t *testing.T) {
	s, c := newScene(t), newCable(t)
	c.set(true)
	if err := os.WriteFile(filepath.Join(s.claims, "broken"+ticket.ClaimSuffix), []byte("kind: Claim\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := s.approver(throughCable(t, c))
	var mu sync.Mutex
	var said []string
	count := func(part string) int {
		mu.Lock()
		defer mu.Unlock()
		return len(slices.DeleteFunc(slices.Clone(said), func(text string) bool { return !strings.Contains(text, part) }))
	}
	a.options.Status = func(text string) { mu.Lock(); said = append(said, text); mu.Unlock() }
	a.options.Ready = func() { a.options.Status("READY") }
	warned := func(part string) int {
		all := s.told()
		return len(slices.DeleteFunc(all, func(told Told) bool { return told.Verdict != Warned || !strings.Contains(told.Reason, part) }))
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- a.Watch(ctx) }()

	until(t, "a word about the API server", func() bool { return warned("https://"+c.listener.Addr().String()) > 0 })
	if count("READY") != 0 {
		t.Error("READY was said while the API server is away")
	}
	c.set(false)
	until(t, "READY", func() bool { return count("READY") == 1 })

	early := s.ticket("watch-early", clusterCA(t), 0)
	first, _ := comeIn(t, early)
	issued(t, first)

	c.set(true)
	away, _ := comeIn(t, s.ticket("watch-away", clusterCA(t), 0))
	until(t, "another word about the API server", func() bool { return warned("https://") > 1 })
	if approvals(t, away) != "" {
		t.Fatal("approved by an approver that is cut off")
	}
	c.set(false)
	issued(t, away)

	// One enrollment is added after its CSR; another one is withdrawn.
	lateDir := newScene(t)
	late := lateDir.ticket("watch-late", clusterCA(t), 0)
	lateCSR, _ := comeIn(t, late)
	until(t, "a word about the CSR without a claim", func() bool { return s.of(lateCSR).Verdict == Leave })
	entries, err := filepath.Glob(filepath.Join(lateDir.claims, "*"))
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	if err := os.Rename(entries[0], filepath.Join(s.claims, "late"+ticket.ClaimSuffix)); err != nil {
		t.Fatal(err)
	}
	issued(t, lateCSR)
	withdrawn := s.ticket("watch-withdrawn", clusterCA(t), 0)
	until(t, "the new claim", func() bool { return strings.HasPrefix(last(&mu, &said), "4 claims") })
	if err := os.Remove(filepath.Join(s.claims, "watch-withdrawn-"+withdrawn.ID+ticket.ClaimSuffix)); err != nil {
		t.Fatal(err)
	}
	until(t, "the claim to go", func() bool { return strings.HasPrefix(last(&mu, &said), "3 claims") })
	goneCSR, _ := comeIn(t, withdrawn)
	until(t, "a word about the withdrawn claim", func() bool { return s.of(goneCSR).Verdict == Leave })

	stop()
	if err := <-done; err != nil {
		t.Errorf("Watch() = %v", err)
	}
	if count("READY") != 1 || warned("broken.claim: reading the claim") != 1 {
		t.Errorf("READY %d times, the broken claim %d times", count("READY"), warned("broken.claim"))
	}
	seen := map[string]int{}
	for _, told := range s.told() {
		if told.CSR != "" {
			seen[told.CSR+" "+string(told.Verdict)+" "+told.Reason]++
		}
	}
	for line, times := range seen {
		if times != 1 {
			t.Errorf("told %d times: %s", times, line)
		}
	}
	if approvals(t, goneCSR) != "" {
		t.Errorf("the withdrawn one is %q", approvals(t, goneCSR))
	}
}

func last(mu *sync.Mutex, said *[]string) string {
	mu.Lock()
	defer mu.Unlock()
	return (*said)[len(*said)-1]
}

// After a Node is deleted, the CSR of its reinstalled host is approved without a new CSR or a
// restart.
func TestControlPlaneNodeIsDeleted(t *testing.T) {
	s := newScene(t)
	nodes := adminClient(t).CoreV1().Nodes()
	makeNodeOnce(t, "reborn", "192.0.2.90")
	csr, _ := comeIn(t, s.ticket("reborn", clusterCA(t), 0))
	a := s.approver(fleetKubeconfig)
	a.soon = time.Second
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- a.Watch(ctx) }()
	until(t, "a word about the Node", func() bool {
		told := s.of(csr)
		return told.Verdict == Refuse && strings.HasPrefix(string(told.Remedy), "oc delete node reborn")
	})
	if err := nodes.Delete(t.Context(), "reborn", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	issued(t, csr)
	stop()
	if err := <-done; err != nil {
		t.Errorf("Watch() = %v", err)
	}
}

func TestControlPlaneByHand(t *testing.T) {
	s := newScene(t)
	key, other := certtest.NewKey(t), certtest.NewKey(t)
	wanted := asked{who: bootstrapClient(t), key: key, node: "hand"}
	foreign := asked{who: bootstrapClient(t), key: other, node: "hand"}.submit(t)
	a := s.approver(fleetKubeconfig)
	node := ByHand{NodeName: "hand", Fingerprint: ticket.Fingerprint(&key.PublicKey)}

	err := a.ByHand(within(t, 3*time.Second), node)
	if err == nil || !strings.Contains(err.Error(), "there is no client CSR of hand with the key "+node.Fingerprint) || !strings.Contains(err.Error(), ticket.Fingerprint(&other.PublicKey)) {
		t.Errorf("ByHand() = %v", err)
	}
	csr := wanted.submit(t)
	for range 2 { // the second call finds the CSR approved
		if err := a.ByHand(within(t, time.Minute), node); err != nil || approvals(t, csr) != byAgent {
			t.Errorf("ByHand() = %v; the CSR is %q", err, approvals(t, csr))
		}
	}
	if approvals(t, foreign) != "" {
		t.Errorf("the other key's CSR is %q", approvals(t, foreign))
	}
	if err := a.ByHand(within(t, time.Minute), ByHand{NodeName: "hand", Fingerprint: "SHA256:abc"}); err == nil || !strings.Contains(err.Error(), "not a fingerprint") {
		t.Errorf("ByHand() with rubbish = %v", err)
	}
	byHandServing(t, s, a)

	makeNode(t, "hand-there", "192.0.2.61")
	there := asked{who: bootstrapClient(t), key: other, node: "hand-there"}.submit(t)
	err = a.ByHand(within(t, time.Minute), ByHand{NodeName: "hand-there", Fingerprint: ticket.Fingerprint(&other.PublicKey)})
	if err == nil || !strings.Contains(err.Error(), "a Node hand-there is in the cluster already") || approvals(t, there) != "" {
		t.Errorf("ByHand() = %v; the CSR is %q", err, approvals(t, there))
	}
}
