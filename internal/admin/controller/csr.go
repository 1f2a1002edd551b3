// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/metrics"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// csrReconciler approves the CSRs of nodes by their NodeEnrollments.
type csrReconciler struct {
	client    client.Client // reads the cache
	live      client.Reader // reads the API server
	events    events.EventRecorder
	caHashes  []enrollment.Hash
	clientCAs *clientCAs
	waiting   *waitingCSRs
}

// maxConcurrentCSRs limits the CSRs that are in memory at a time. One can have 1.5 MB.
const maxConcurrentCSRs = 4

// Delays after which a CSR is decided on again.
const (
	// recheckDelay is for changes that were made while the CSR was decided on. After it, the cache has them.
	recheckDelay = 200 * time.Millisecond
	// certificateDelay is for the CSR of a node with an expired certificate. Its decision depends on the client CAs, and
	// on whether the certificate has expired by the clock of this host.
	certificateDelay = 5 * time.Minute
)

func newCSRReconciler(m manager.Manager, hashes []enrollment.Hash) *csrReconciler {
	return &csrReconciler{
		client:    m.GetClient(),
		live:      m.GetAPIReader(),
		events:    m.GetEventRecorder(EventSource),
		caHashes:  hashes,
		clientCAs: &clientCAs{live: m.GetAPIReader()},
		waiting:   newWaitingCSRs(),
	}
}

func addCSRController(m manager.Manager, hashes []enrollment.Hash) error {
	r := newCSRReconciler(m, hashes)
	return builder.ControllerManagedBy(m).Named("csr").
		For(&kube.CSR{}, builder.OnlyMetadata).
		Watches(&v1alpha1.NodeEnrollment{}, handler.EnqueueRequestsFromMapFunc(r.csrsOf),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&corev1.Node{}, r.afterNodeChange(), builder.WithPredicates(decisiveNodeChange)).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(r.csrsOfLost)).
		WithOptions(controller.Options{MaxConcurrentReconciles: maxConcurrentCSRs}).
		Complete(r)
}

// decisiveNodeChange selects the changes of a Node on which a decision depends.
var decisiveNodeChange = predicate.Funcs{
	UpdateFunc: func(changed event.UpdateEvent) bool {
		before, after := changed.ObjectOld.(*corev1.Node), changed.ObjectNew.(*corev1.Node)
		return kube.IsReady(before) != kube.IsReady(after) ||
			!equality.Semantic.DeepEqual(before.Status.Addresses, after.Status.Addresses)
	},
}

// nodeDelay combines the changes of a Node. Without it, a node that changes its addresses all the time, and for which
// many CSRs wait, would delay the approval of all others.
const nodeDelay = time.Second

// afterNodeChange requests the CSRs that wait for a change of a Node: a limited number, after a delay.
func (r *csrReconciler) afterNodeChange() handler.EventHandler {
	enqueue := func(node client.Object, queue requestQueue) {
		for _, name := range r.waiting.of(node.GetName()) {
			queue.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}, nodeDelay)
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, created event.CreateEvent, queue requestQueue) {
			enqueue(created.Object, queue)
		},
		UpdateFunc: func(_ context.Context, changed event.UpdateEvent, queue requestQueue) {
			enqueue(changed.ObjectNew, queue)
		},
		DeleteFunc: func(_ context.Context, deleted event.DeleteEvent, queue requestQueue) {
			enqueue(deleted.Object, queue)
		},
	}
}

// csrsOf returns the CSRs whose decision depends on an enrollment: those that wait for its node, and those with its
// join token.
func (r *csrReconciler) csrsOf(ctx context.Context, object client.Object) []reconcile.Request {
	names := r.waiting.of(object.GetName())
	tokens, err := r.csrsWithToken(ctx, object.GetName())
	if err != nil { // the controller ends: otherwise the cache can be read
		log.FromContext(ctx).Error(err, "listing the CSRs of a node", "node", object.GetName())
	}
	return lists.Map(append(names, tokens...), func(name string) reconcile.Request {
		return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
	})
}

// csrsOfLost returns the CSRs that wait, of the nodes in the list of lost nodes before or after a change.
func (r *csrReconciler) csrsOfLost(_ context.Context, list client.Object) []reconcile.Request {
	var requests []reconcile.Request
	for node := range list.(*corev1.ConfigMap).Data {
		for _, name := range r.waiting.of(node) {
			requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Name: name}})
		}
	}
	return requests
}

// csrsWithToken returns the names of the CSRs with the join token of a node.
func (r *csrReconciler) csrsWithToken(ctx context.Context, node string) ([]string, error) {
	var object v1alpha1.NodeEnrollment
	if err := r.client.Get(ctx, client.ObjectKey{Name: node}, &object); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(certificatesv1.SchemeGroupVersion.WithKind("CertificateSigningRequestList"))
	if err := r.client.List(ctx, list, client.MatchingFields{csrTokenIndex: object.Spec.TokenID}); err != nil {
		return nil, err
	}
	return lists.Map(list.Items, func(csr metav1.PartialObjectMetadata) string { return csr.Name }), nil
}

// Reconcile decides on one CSR.
func (r *csrReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	csr := &kube.CSR{}
	err := r.live.Get(ctx, request.NamespacedName, csr)
	switch {
	case apierrors.IsNotFound(err), err == nil && approver.IsDecided(csr):
		r.waiting.remove(request.Name)
		return reconcile.Result{}, nil
	case errors.Is(err, context.Canceled): // the controller ends, and empties its queue
		return reconcile.Result{}, nil
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("getting the CSR: %w", err)
	}
	found, err := r.gather(ctx, csr)
	if err != nil {
		return reconcile.Result{}, err
	}
	decision := approver.Decide(csr, found.enrollments, found.facts)
	if decision.Outcome == approver.Approved {
		return r.approve(ctx, csr, decision, found)
	}
	if decision.Reason == "" { // not for a node
		return reconcile.Result{}, nil
	}
	isNews := r.report(ctx, csr, decision, found)
	switch {
	case len(found.objects) == 0 || !r.waiting.has(csr.Name):
		return reconcile.Result{}, nil
	case isNews: // a change before the CSR was remembered has not caused another decision
		return reconcile.Result{RequeueAfter: recheckDelay}, nil
	case csr.Annotations[enrollment.AnnotationCertificate] != "":
		return reconcile.Result{RequeueAfter: certificateDelay}, nil
	}
	return reconcile.Result{}, nil
}

// approve approves a CSR. If the enrollment or the CSR has changed meanwhile, the CSR is decided on again.
func (r *csrReconciler) approve(
	ctx context.Context, csr *kube.CSR, decision approver.Decision, found gathered,
) (reconcile.Result, error) {
	object := found.objects[decision.Node]
	err := r.bindAndApprove(ctx, csr, decision, object)
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		log.FromContext(ctx).V(1).Info("deciding again", "node", decision.Node, "cause", err.Error())
		return reconcile.Result{RequeueAfter: recheckDelay}, nil
	case err != nil:
		decision.Outcome, decision.Reason = approver.Warning, "it cannot be approved: "+err.Error()
		decision.Remedy = "# retried automatically"
		r.report(ctx, csr, decision, found)
		return reconcile.Result{}, err
	}
	r.waiting.remove(csr.Name)
	metrics.CountDecision(decision)
	log.FromContext(ctx).Info("approved", "node", decision.Node, "signer", csr.Spec.SignerName, "key", decision.Key,
		"joinTokenID", decision.Enrollment.ID, "reason", decision.Reason)
	r.events.Eventf(object, csr, corev1.EventTypeNormal, "CSRApproved", "Approve", "%s",
		report.Shorten("approved "+approver.DisplayName(csr.Name)+" for "+csr.Spec.SignerName, maxNoteLength))
	return reconcile.Result{}, nil
}

// bindAndApprove records that the host uses its enrollment, and approves the CSR. The record comes first: a controller
// that is stopped between both approves the same CSR again, and no other one.
func (r *csrReconciler) bindAndApprove(
	ctx context.Context, csr *kube.CSR, decision approver.Decision, object *v1alpha1.NodeEnrollment,
) error {
	// The writes fail with a conflict for example because another key has used the join token, and with not found if the
	// enrollment was deleted.
	recorded := object.DeepCopy()
	if approver.IsServing(csr) {
		recorded.Status.ServingCSR = csr.Name
	} else {
		recorded.Status.ClientCSR = csr.Name
	}
	if err := r.client.Status().Patch(ctx, recorded, ifUnchanged(object)); err != nil {
		return fmt.Errorf("recording the CSR in the enrollment of %s: %w", decision.Node, err)
	}
	if decision.UsesToken { // last, because the other controllers write the status after it
		used := recorded.DeepCopy()
		used.Spec.UsedBy = &v1alpha1.TokenUse{Key: decision.Key, At: *setTime(time.Now())}
		if err := r.client.Patch(ctx, used, ifUnchanged(recorded)); err != nil {
			return fmt.Errorf("recording the use of the join token of %s: %w", decision.Node, err)
		}
	}
	message := fmt.Sprintf("hcp-node-admin: join token %s of %s, key %s",
		decision.Enrollment.ID, decision.Node, decision.Key)
	if decision.Reason != "" {
		message += "; " + decision.Reason
	}
	if err := r.client.SubResource("approval").Update(ctx, approver.WithApproval(csr, message)); err != nil {
		return fmt.Errorf("approving CSR %s of %s: %w", approver.DisplayName(csr.Name), decision.Node, err)
	}
	return nil
}

// maxNoteLength is the length of an Event's note that the API server accepts.
const maxNoteLength = 1024

// report remembers a CSR that is not approved, and reports why: in the log, and at the enrollment of its node if it has
// one. It returns false, and reports nothing, if it has reported the same before.
func (r *csrReconciler) report(
	ctx context.Context, csr *kube.CSR, decision approver.Decision, found gathered,
) (isNews bool) {
	if !r.waiting.add(csr.Name, decision.Reason, found.nodes(decision)) {
		return false
	}
	metrics.CountDecision(decision)
	log.FromContext(ctx).Info(string(decision.Outcome), "node", decision.Node, "signer", csr.Spec.SignerName,
		"key", decision.Key, "reason", decision.Reason, "remedy", decision.Remedy)
	if object := found.objects[decision.Node]; object != nil {
		r.events.Eventf(object, csr, corev1.EventTypeWarning, "CSRNotApproved", "Approve", "%s",
			report.Shorten(approver.DisplayName(csr.Name)+": "+decision.Reason, maxNoteLength))
	}
	return true
}
