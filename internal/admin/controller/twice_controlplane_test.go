// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// Copies of a node's CSR are not approved, neither before nor after the node's own. The same key is approved again, for
// example after garbage collection of the first CSR.
func TestControlPlaneApprovesOneCSRForAKey(t *testing.T) {
	c := startController(t)
	request := csrtest.TokenRequest(t, enroll(t, "again"), certtest.NewKey(t))
	copied := func(name string) string {
		request := request
		request.Name = name
		return request.Submit(t)
	}
	var copies []string
	for n := range 10 {
		copies = append(copies, copied(fmt.Sprintf("aa-%02d-%s", n, request.Name)))
	}
	first := request.Submit(t)
	c.awaitApproved(first)
	for n := range 10 {
		copies = append(copies, copied(fmt.Sprintf("zz-%02d-%s", n, request.Name)))
	}
	for _, name := range copies {
		c.awaitDecision(name, approver.Refused, "it is a copy")
		checkPending(t, name)
	}
	before := getEnrollment(t, "again").Spec.UsedBy
	csrtest.Delete(t, first)
	again := request.Submit(t)
	csrtest.AwaitIssued(t, again)
	if diff := cmp.Diff(before, getEnrollment(t, "again").Spec.UsedBy); before == nil || diff != "" {
		t.Errorf("used again (-want +got):\n%s", diff)
	}
}

// A join token that was used is refused for another key, also after the first host has left.
func TestControlPlaneUsedToken(t *testing.T) {
	c := startController(t)
	token := enroll(t, "used")
	csr, _ := csrtest.SubmitWithToken(t, token)
	c.awaitApproved(csr)
	csrtest.Delete(t, csr)
	bound := getEnrollment(t, "used").Spec.UsedBy.Key
	other, _ := csrtest.SubmitWithToken(t, token)
	refused := c.awaitDecision(other, approver.Refused, "was already used with another key ("+bound+")")
	if refused.Node != "used" || getEnrollment(t, "used").Spec.UsedBy.Key != bound {
		t.Errorf("the decision is %+v", refused)
	}
	checkPending(t, other)
}

// Two replicas approve each CSR once: only the one with the Lease works, and the other one continues when it ends.
func TestControlPlaneTwoReplicas(t *testing.T) {
	replicas := []*testController{{t: t}, {t: t}}
	for _, c := range replicas {
		m, err := New(c.options(controllerKubeconfig))
		c.run(m, err)
	}
	approvals := func(csrs []string) (counts [2]int) {
		for i, c := range replicas {
			for _, csr := range csrs {
				for _, entry := range c.decisions(csr) {
					if entry.Message == string(approver.Approved) {
						counts[i]++
					}
				}
			}
		}
		return counts
	}
	join := func(prefix string) []string {
		csrs := make([]string, 25)
		for n := range csrs {
			csrs[n], _ = csrtest.SubmitWithToken(t, enroll(t, fmt.Sprintf("%s-%02d", prefix, n)))
		}
		for _, csr := range csrs {
			csrtest.AwaitIssued(t, csr)
		}
		return csrs
	}
	csrs := join("two")
	var first, second [2]int
	waittest.Until(t, "waiting for all approvals in the log", func() (any, bool) {
		first = approvals(csrs)
		return first, first[0]+first[1] >= len(csrs)
	})
	leader := min(first[1], 1)
	if first[leader] != len(csrs) || first[1-leader] != 0 {
		t.Fatalf("the replicas have approved %v of %d CSRs", first, len(csrs))
	}
	replicas[leader].stop()
	csrs = join("two-after")
	waittest.Until(t, "waiting for all approvals in the log of the other replica", func() (any, bool) {
		second = approvals(csrs)
		return second, second[1-leader] >= len(csrs)
	})
	if second[leader] != 0 || second[1-leader] != len(csrs) {
		t.Errorf("after the end of the leader, the replicas have approved %v of %d CSRs", second, len(csrs))
	}
	for _, c := range replicas {
		if all := c.errors(); len(all) > 0 {
			t.Errorf("logged: %+v", all)
		}
	}
}

// hookedClient calls a function before each write.
type hookedClient struct {
	client.Client
	beforePatch, beforeUpdate func() error // of a subresource
	beforeObjectPatch         func(client.Object) error
}

func (h *hookedClient) Patch(
	ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption,
) error {
	if before := h.beforeObjectPatch; before != nil {
		if err := before(object); err != nil {
			return err
		}
	}
	return h.Client.Patch(ctx, object, patch, options...)
}

type hookedWriter struct {
	client.SubResourceWriter
	client *hookedClient
}

func (h *hookedClient) Status() client.SubResourceWriter {
	return hookedWriter{SubResourceWriter: h.Client.Status(), client: h}
}

type hookedSubResource struct {
	client.SubResourceClient
	client *hookedClient
}

func (h *hookedClient) SubResource(name string) client.SubResourceClient {
	return hookedSubResource{SubResourceClient: h.Client.SubResource(name), client: h}
}

func (h hookedWriter) Patch(
	ctx context.Context, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption,
) error {
	if before := h.client.beforePatch; before != nil {
		if err := before(); err != nil {
			return err
		}
	}
	return h.SubResourceWriter.Patch(ctx, object, patch, options...)
}

func (h hookedSubResource) Update(
	ctx context.Context, object client.Object, options ...client.SubResourceUpdateOption,
) error {
	if before := h.client.beforeUpdate; before != nil {
		if err := before(); err != nil {
			return err
		}
	}
	return h.SubResourceClient.Update(ctx, object, options...)
}

// startReconciler starts a manager whose only controller is the returned reconciler, which the test calls itself.
func startReconciler(t *testing.T) (*testController, *csrReconciler, *hookedClient) {
	t.Helper()
	c := &testController{t: t}
	m := c.newManager(controllerKubeconfig)
	r := newCSRReconciler(m, hashesOf(t, csrtest.ClusterCA(t)))
	hooked := &hookedClient{Client: r.client}
	r.client = hooked
	c.run(m, nil)
	if !m.GetCache().WaitForCacheSync(waittest.Context(t)) {
		t.Fatal("the cache is not synchronized")
	}
	return c, r, hooked
}

// Two replicas that both work, for example because one has not noticed the loss of its Lease, decide on two keys for
// the same join token. Both have read that it is unused. Only one key is bound, and only its CSR is approved.
func TestControlPlaneTwoKeysAndTwoReplicas(t *testing.T) {
	for n := range 5 {
		token := enroll(t, fmt.Sprintf("race-%d", n))
		var decided sync.WaitGroup
		decided.Add(2)
		type attempt struct {
			reconciler *csrReconciler
			hooked     *hookedClient
			csr, key   string
		}
		attempts := make([]attempt, 2)
		for i := range attempts {
			_, r, hooked := startReconciler(t)
			csr, key := csrtest.SubmitWithToken(t, token)
			hooked.beforePatch = func() error { decided.Done(); decided.Wait(); return nil }
			attempts[i] = attempt{reconciler: r, hooked: hooked, csr: csr, key: enrollment.Fingerprint(&key.PublicKey)}
		}
		var running sync.WaitGroup
		for _, one := range attempts {
			running.Go(func() {
				if _, err := one.reconciler.Reconcile(t.Context(), requestFor(one.csr)); err != nil {
					t.Error(err)
				}
			})
		}
		running.Wait()
		for _, one := range attempts { // as after the delay of a conflict
			one.hooked.beforePatch = nil
			waittest.Until(t, "waiting for the use in the cache", func() (any, bool) {
				object := getEnrollment(t, token.NodeName)
				err := one.hooked.Get(t.Context(), client.ObjectKey{Name: token.NodeName}, object)
				return err, err == nil && object.Spec.UsedBy != nil
			})
			if _, err := one.reconciler.Reconcile(t.Context(), requestFor(one.csr)); err != nil {
				t.Error(err)
			}
		}
		bound := getEnrollment(t, token.NodeName).Spec.UsedBy.Key
		for _, one := range attempts {
			want := ""
			if one.key == bound {
				want = approved
			}
			if got := csrtest.Conditions(t, one.csr); got != want {
				t.Errorf("the token is bound to %s; the CSR with %s is %q, want %q", bound, one.key, got, want)
			}
		}
	}
}

// If a controller stops between the record and the approval, the node waits. The next controller approves the CSR, and
// the record refuses any other key.
func TestControlPlaneControllerStopsBeforeApproval(t *testing.T) {
	token := enroll(t, "between")
	csr, key := csrtest.SubmitWithToken(t, token)
	ending, r, hooked := startReconciler(t)
	errStopped := errors.New("stopped")
	hooked.beforeUpdate = func() error { return errStopped }
	if _, err := r.Reconcile(t.Context(), requestFor(csr)); !errors.Is(err, errStopped) {
		t.Fatalf("Reconcile() = %v", err)
	}
	ending.stop()
	checkPending(t, csr)
	if got := getEnrollment(t, "between").Spec.UsedBy; got == nil || got.Key != enrollment.Fingerprint(&key.PublicKey) {
		t.Fatalf("used by %+v", got)
	}
	stolen, _ := csrtest.SubmitWithToken(t, token)
	c := startController(t)
	c.awaitApproved(csr)
	c.awaitDecision(stolen, approver.Refused, "was already used")
	checkPending(t, stolen)
}

// An enrollment that was deleted and created again after it was read is not bound.
func TestControlPlaneEnrollmentReplacedBeforeRecord(t *testing.T) {
	token, object := newEnrollment(t, "replaced", csrtest.ClusterCA(t))
	again := object.DeepCopy()
	create(t, object)
	csr, _ := csrtest.SubmitWithToken(t, token)
	_, r, hooked := startReconciler(t)
	hooked.beforePatch = func() error {
		deleteEnrollment(t, "replaced")
		create(t, again)
		return nil
	}
	result, err := r.Reconcile(t.Context(), requestFor(csr))
	if err != nil || result.RequeueAfter == 0 {
		t.Errorf("Reconcile() = %+v, %v", result, err)
	}
	if got := getEnrollment(t, "replaced"); got.Spec.UsedBy != nil {
		t.Errorf("used by %+v", got.Spec.UsedBy)
	}
	checkPending(t, csr)
}
