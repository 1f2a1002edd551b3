// SPDX-License-Identifier: Apache-2.0

// Package publisher publishes the current user data of NodePools in the hosted cluster, where their nodes get it. It
// reads the management cluster at intervals, so that it needs only the rights to list NodePools and to get Secrets by
// name.
package publisher

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/nodepool"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// interval is the time between two reads of the management cluster.
const interval = 30 * time.Second

// maxProblemLength limits the text of an annotation or Event, which contains messages of HyperShift.
const maxProblemLength = 1000

// Publisher publishes the user data of the NodePools of one HostedCluster.
type Publisher struct {
	Management       client.Reader // explains its errors
	Namespace        string        // of the NodePools
	HostedCluster    string
	CredentialRemedy report.Remedy // for a credential that the management cluster rejects, or that has no permission
	Hosted           client.Client
	Live             client.Reader // reads the API server of the hosted cluster
	Events           events.EventRecorder
	Log              logr.Logger
	// Record is called after each success with the NodePool and the time, with the zero time after its deletion. "" is
	// the list of the NodePools. The first call for a NodePool precedes its publication.
	Record   func(nodePool string, at time.Time)
	Interval time.Duration

	known    sets.Set[string]  // NodePools for which Record was called
	missing  sets.Set[string]  // NodePools without user data when they were read last
	reported map[string]string // last problem by NodePool, "" for none
}

// NeedLeaderElection returns true: one replica publishes.
func (*Publisher) NeedLeaderElection() bool { return true }

// Start publishes until ctx ends. A failure is logged when it changes, and retried automatically.
func (p *Publisher) Start(ctx context.Context) error {
	p.reported, p.known, p.missing = map[string]string{}, sets.New[string](), sets.New[string]()
	wait.UntilWithContext(ctx, p.publishAll, p.Interval)
	return nil
}

// list is the name under which the list of the NodePools is reported.
const list = ""

// publishAll publishes the user data of each NodePool once. After a failure to read the list, nothing is deleted.
func (p *Publisher) publishAll(ctx context.Context) {
	p.add(list)
	cluster, pools, err := p.read(ctx)
	if err != nil {
		p.report(ctx, list, err)
		return
	}
	published := sets.New(list)
	for _, pool := range pools {
		p.add(pool.Name)
		published.Insert(pool.Name)
		err := p.publish(ctx, &nodepool.Facts{NodePool: pool, HostedCluster: cluster})
		if !errors.Is(err, errReplaced) {
			p.report(ctx, pool.Name, err)
		}
	}
	p.report(ctx, list, p.deleteOthers(ctx, published))
	for name := range p.known.Difference(published) {
		p.Record(name, time.Time{})
		p.known.Delete(name)
		p.missing.Delete(name)
		delete(p.reported, name)
	}
}

// add begins to record the successes of a NodePool, so that one that never succeeds becomes old.
func (p *Publisher) add(name string) {
	if !p.known.Has(name) {
		p.known.Insert(name)
		p.Record(name, time.Now())
	}
}

// read returns the HostedCluster and its NodePools of platform None. It fails if the HostedCluster does not exist: its
// name may be wrong, and without NodePools all Secrets would be deleted.
func (p *Publisher) read(ctx context.Context) (*nodepool.HostedCluster, []nodepool.NodePool, error) {
	cluster, err := nodepool.GetHostedCluster(ctx, p.Management, p.Namespace, p.HostedCluster)
	if err != nil {
		return nil, nil, err
	}
	if err := p.checkCluster(ctx, cluster); err != nil {
		return nil, nil, err
	}
	pools, err := nodepool.List(ctx, p.Management,
		types.NamespacedName{Namespace: p.Namespace, Name: p.HostedCluster})
	return cluster, pools, err
}

// report records the result for a NodePool. It logs an error, and records an Event, if it differs from the last one.
func (p *Publisher) report(ctx context.Context, name string, err error) {
	if ctx.Err() != nil {
		return
	}
	text := ""
	if err == nil {
		p.Record(name, time.Now())
	} else {
		text = err.Error()
	}
	before, isRepeated := p.reported[name]
	if before == text && (isRepeated || name == list) {
		return
	}
	p.reported[name] = text
	logger := p.Log.WithValues("hostedCluster", p.HostedCluster)
	if name != list {
		logger = logger.WithValues("nodePool", name)
	}
	switch {
	case err == nil && name == list:
		logger.Info("the management cluster is read again")
		return
	case err == nil:
		logger.Info("the user data is published")
		return
	}
	remedy := report.RemedyOf(err)
	if report.CodeOf(err) == report.CredentialRefused {
		remedy = p.CredentialRemedy
	}
	logger.Error(err, "newer user data is not published", "remedy", remedy)
	if name != list {
		p.Events.Eventf(newSecret(name), nil, corev1.EventTypeWarning, "UserDataNotPublished", "Publish", "%s",
			report.Shorten(text, maxProblemLength))
	}
}

// newSecret returns the empty Secret of a NodePool.
func newSecret(nodePool string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: v1alpha1.Namespace, Name: v1alpha1.UserDataSecret(nodePool),
	}}
}

// errReplaced is the error for user data that was missing only once. HyperShift deletes the user data of the former
// configuration before it names the new one in the NodePool.
var errReplaced = errors.New("the user data is being replaced")

// publish publishes the user data of one NodePool. If it has a problem, the Secret keeps its content, with the problem
// as an annotation. It returns errReplaced, and changes nothing, if the user data is missing for the first time.
func (p *Publisher) publish(ctx context.Context, facts *nodepool.Facts) error {
	// Read first: a publisher that was paused after it has read the user data must not replace newer user data.
	secret := newSecret(facts.NodePool.Name)
	err := p.Live.Get(ctx, client.ObjectKeyFromObject(secret), secret)
	if err := facts.GetSecrets(ctx, p.Management); err != nil {
		return err
	}
	wasMissing := p.missing.Has(facts.NodePool.Name)
	p.missing.Delete(facts.NodePool.Name)
	if len(facts.UserData) == 0 {
		p.missing.Insert(facts.NodePool.Name)
		if !wasMissing {
			return errReplaced
		}
	}
	problem := report.Refusal(facts.Evaluate(time.Now()))
	switch {
	case apierrors.IsNotFound(err) && problem != nil:
		return problem
	case apierrors.IsNotFound(err):
		describe(secret, facts)
		err = p.Hosted.Create(ctx, secret)
	case err == nil && !isOwn(secret):
		return foreign(secret)
	case err == nil:
		before := secret.DeepCopy()
		if problem != nil {
			state := v1alpha1.StateOfPublished(secret)
			state.Problem = report.Shorten(problem.Error(), maxProblemLength)
			state.WriteTo(secret)
		} else {
			describe(secret, facts)
		}
		if !equality.Semantic.DeepEqual(before, secret) {
			err = p.Hosted.Update(ctx, secret)
		}
	}
	if err != nil {
		return explainHosted("writing Secret "+secret.Name, err)
	}
	return problem
}

// isOwn reports whether a publisher has created a Secret. Another one is neither changed nor deleted: an administrator
// can publish the user data of a NodePool by hand.
func isOwn(secret metav1.Object) bool {
	return secret.GetLabels()[v1alpha1.LabelManagedBy] == v1alpha1.ManagedByPublisher
}

// foreign returns the error for a Secret that no publisher has created.
func foreign(secret *corev1.Secret) error {
	return report.Fail(report.Refused, report.Remedyf("# on the hosted cluster, delete the Secret, and the controller "+
		"creates it again:\noc -n %s delete secret %s", secret.Namespace, secret.Name),
		"Secret %s in namespace %s of the hosted cluster exists without the label %s=%s: the controller has not created it, "+
			"and does not replace it", secret.Name, secret.Namespace, v1alpha1.LabelManagedBy, v1alpha1.ManagedByPublisher)
}

// explainHosted returns the error of a request to the hosted cluster.
func explainHosted(doing string, err error) error {
	err = fmt.Errorf("%s in the hosted cluster: %w", doing, err)
	if apierrors.IsForbidden(err) {
		return report.Fail(report.Failed, "# grant the permission to publish:\n"+
			"oc --kubeconfig hosted.kubeconfig apply --server-side -k deploy/hosted-publish", "%w", err)
	}
	return err
}

// describe sets the content of the Secret with the user data of a NodePool without a problem.
func describe(secret *corev1.Secret, facts *nodepool.Facts) {
	v1alpha1.PublishedState{
		Config: facts.ConfigHash(), Release: facts.Release(), MaxUnavailable: facts.NodePool.Spec.Management.MaxUnavailable(),
		DrainTimeout: facts.NodePool.DrainTimeout(), Paused: facts.Paused(), Expires: facts.Expires(),
	}.WriteTo(secret)
	metav1.SetMetaDataLabel(&secret.ObjectMeta, v1alpha1.LabelNodePool, v1alpha1.NodePoolLabel(facts.NodePool.Name))
	metav1.SetMetaDataLabel(&secret.ObjectMeta, v1alpha1.LabelManagedBy, v1alpha1.ManagedByPublisher)
	secret.Data = map[string][]byte{v1alpha1.UserDataKey: facts.UserData}
}

// deleteOthers deletes the Secrets of NodePools that no longer exist.
func (p *Publisher) deleteOthers(ctx context.Context, published sets.Set[string]) error {
	all := &metav1.PartialObjectMetadataList{}
	all.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if err := p.Live.List(ctx, all, client.InNamespace(v1alpha1.Namespace),
		client.MatchingLabels{v1alpha1.LabelManagedBy: v1alpha1.ManagedByPublisher}); err != nil {
		return explainHosted("listing the published user data", err)
	}
	var failures []error
	for i := range all.Items {
		secret := &all.Items[i]
		pool := v1alpha1.PublishedNodePool(secret)
		if pool == "" || published.Has(pool) {
			continue
		}
		err := p.Hosted.Delete(ctx, secret, client.Preconditions{UID: &secret.UID})
		if client.IgnoreNotFound(err) != nil {
			failures = append(failures, explainHosted("deleting Secret "+secret.Name, err))
			continue
		}
		p.Log.Info("deleted the user data of a NodePool that no longer exists", "nodePool", pool)
	}
	return errors.Join(failures...)
}
