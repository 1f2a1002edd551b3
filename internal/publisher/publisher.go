// SPDX-License-Identifier: Apache-2.0

// Package publisher publishes the current user data of NodePools in the hosted cluster, where their nodes get it. It
// reads the management cluster at intervals, so that it needs only the rights to list NodePools and to get Secrets by
// name.
package publisher

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/nodepool"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Interval is the time between two reads of the management cluster.
const Interval = 30 * time.Second

// Publisher publishes the user data of the NodePools of one HostedCluster.
type Publisher struct {
	Management    *kube.Conn
	Namespace     string // of the NodePools
	HostedCluster string
	Hosted        client.Client
	Live          client.Reader // reads the API server of the hosted cluster
	Log           logr.Logger

	reported map[string]string // last problem by NodePool, "" for none
}

// Start publishes until ctx ends. A failure is logged when it changes, and tried again.
func (p *Publisher) Start(ctx context.Context) error {
	p.reported = map[string]string{}
	wait.UntilWithContext(ctx, p.publishAll, Interval)
	return nil
}

// publishAll publishes the user data of each NodePool once.
func (p *Publisher) publishAll(ctx context.Context) {
	pools, err := nodepool.List(ctx, p.Management, p.Namespace)
	if p.report(ctx, "", err) != nil {
		return
	}
	published := sets.New[string]()
	for _, pool := range pools {
		if pool.Spec.ClusterName != p.HostedCluster || pool.Spec.Platform.Type != nodepool.PlatformNone {
			continue
		}
		published.Insert(pool.Name)
		_ = p.report(ctx, pool.Name, p.publish(ctx, pool.Name))
	}
	_ = p.report(ctx, "the NodePools that were deleted", p.deleteOthers(ctx, published))
}

// report logs an error about a NodePool, if it is another one than the last time, and returns it.
func (p *Publisher) report(ctx context.Context, name string, err error) error {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if p.reported[name] == text || ctx.Err() != nil {
		return err
	}
	p.reported[name] = text
	if err == nil {
		p.Log.Info("published", "nodePool", name)
		return nil
	}
	p.Log.Error(err, "not published", "nodePool", name, "remedy", report.RemedyOf(err))
	return err
}

// publish publishes the user data of one NodePool. If it has a problem, the Secret keeps its content, with the problem
// as an annotation.
func (p *Publisher) publish(ctx context.Context, name string) error {
	facts, err := nodepool.Get(ctx, p.Management, p.Namespace, name)
	if err != nil {
		return err
	}
	problem := report.Refusal(facts.Evaluate(time.Now()))
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: v1alpha1.Namespace, Name: v1alpha1.UserDataSecret(name)}
	err = p.Live.Get(ctx, key, secret)
	switch {
	case apierrors.IsNotFound(err) && problem != nil:
		return problem
	case apierrors.IsNotFound(err):
		secret.Namespace, secret.Name = key.Namespace, key.Name
		describe(secret, facts)
		err = p.Hosted.Create(ctx, secret)
	case err == nil:
		before := secret.DeepCopy()
		if problem != nil {
			metav1.SetMetaDataAnnotation(&secret.ObjectMeta, v1alpha1.AnnotationPoolProblem, problem.Error())
		} else {
			describe(secret, facts)
		}
		if !equality.Semantic.DeepEqual(before, secret) {
			err = p.Hosted.Update(ctx, secret)
		}
	}
	if err != nil {
		return fmt.Errorf("writing Secret %s in namespace %s of the hosted cluster: %w", key.Name, key.Namespace, err)
	}
	return problem
}

// describe sets the content of the Secret with the user data of a NodePool without a problem.
func describe(secret *corev1.Secret, facts *nodepool.Facts) {
	annotations := maps.Clone(secret.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	expires := ""
	if end := facts.Expires(); !end.IsZero() {
		expires = report.Timestamp(end)
	}
	for key, value := range map[string]string{
		v1alpha1.AnnotationPoolConfig:         facts.ConfigHash(),
		v1alpha1.AnnotationPoolRelease:        facts.Release(),
		v1alpha1.AnnotationPoolMaxUnavailable: facts.NodePool.Spec.Management.MaxUnavailable(),
		v1alpha1.AnnotationPoolPaused:         facts.Paused(),
		v1alpha1.AnnotationPoolExpires:        expires,
		v1alpha1.AnnotationPoolProblem:        "",
	} {
		delete(annotations, key)
		if value != "" {
			annotations[key] = value
		}
	}
	secret.Annotations = annotations
	secret.Labels = map[string]string{v1alpha1.LabelNodePool: facts.NodePool.Name}
	secret.Data = map[string][]byte{v1alpha1.UserDataKey: facts.UserData}
}

// deleteOthers deletes the Secrets of NodePools that no longer exist.
func (p *Publisher) deleteOthers(ctx context.Context, published sets.Set[string]) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if err := p.Live.List(ctx, list, client.InNamespace(v1alpha1.Namespace),
		client.HasLabels{v1alpha1.LabelNodePool}); err != nil {
		return fmt.Errorf("listing the published user data: %w", err)
	}
	var failures []error
	for i := range list.Items {
		secret := &list.Items[i]
		if published.Has(secret.Labels[v1alpha1.LabelNodePool]) {
			continue
		}
		if err := p.Hosted.Delete(ctx, secret); client.IgnoreNotFound(err) != nil {
			failures = append(failures, fmt.Errorf("deleting Secret %s: %w", secret.Name, err))
		}
	}
	return errors.Join(failures...)
}
