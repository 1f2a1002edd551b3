// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/nodepool"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// awaitPublished waits until the controller has published the user data of the NodePools, so that hosts that are
// enrolled afterwards can rely on it. It does not wait for the NodePools with which no host could join.
func (i *Installer) awaitPublished(ctx context.Context) error {
	hostedCluster, err := nodepool.GetHostedCluster(ctx, i.Management, i.HostedCluster.Namespace, i.HostedCluster.Name)
	if err != nil {
		return err
	}
	pools, err := nodepool.List(ctx, i.Management, i.HostedCluster)
	if err != nil {
		return err
	}
	remedy := report.Remedyf("oc --kubeconfig management.kubeconfig -n %s logs -l app.kubernetes.io/component=controller",
		i.managementNamespace())
	for _, pool := range pools {
		facts := &nodepool.Facts{NodePool: pool, HostedCluster: hostedCluster}
		if err := facts.GetSecrets(ctx, i.Management); err != nil {
			return err
		}
		if report.Refusal(facts.Evaluate(time.Now())) != nil {
			continue
		}
		key := client.ObjectKey{Namespace: v1alpha1.Namespace, Name: v1alpha1.UserDataSecret(pool.Name)}
		err := i.await(ctx, i.Hosted, remedy, func(ctx context.Context) (string, error) {
			exists, err := i.Hosted.Find(ctx, key, &corev1.Secret{})
			if err == nil && !exists {
				return "the controller publishes the user data of " + facts.String(), nil
			}
			return "", err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// stopPublishing deletes the permissions to publish user data in both clusters, if the service account on the
// management cluster exists. The service account is the last object to be deleted, so that an interrupted run can be
// repeated. Published Secrets remain: a later run can publish again.
func (i *Installer) stopPublishing(ctx context.Context) error {
	account := newObject("v1", "ServiceAccount", i.managementNamespace(), controllerName)
	exists, err := i.Management.Find(ctx, client.ObjectKeyFromObject(account), account)
	if err != nil || !exists || !isOwn(account) {
		return err
	}
	settings := Settings{
		In: cluster.Management, Namespace: i.managementNamespace(), HostedCluster: i.HostedCluster, Publish: true,
	}
	for _, from := range []*cluster.Cluster{i.Hosted, i.Management} {
		if from == nil {
			continue // the HostedCluster does not exist
		}
		objects, err := settings.publishObjects(from.Place)
		if err == nil {
			err = i.applierFor(from).deleteAll(ctx, objects, isPermanent)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// deletePublished deletes the Secrets that the controller has published.
func (i *Installer) deletePublished(ctx context.Context) error {
	var secrets metav1.PartialObjectMetadataList
	secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	err := i.Hosted.List(ctx, &secrets, client.InNamespace(v1alpha1.Namespace),
		client.MatchingLabels{v1alpha1.LabelManagedBy: v1alpha1.ManagedByPublisher})
	if err != nil {
		return err
	}
	for _, secret := range secrets.Items {
		err := i.applierFor(i.Hosted).delete(ctx, newObject("v1", "Secret", secret.Namespace, secret.Name))
		if err != nil {
			return err
		}
	}
	return nil
}

// publishObjects returns the objects that exist only if the controller publishes user data.
func (s Settings) publishObjects(place cluster.Place) ([]*unstructured.Unstructured, error) {
	all, err := s.Objects(place)
	if err != nil {
		return nil, err
	}
	s.Publish = false
	others, err := s.Objects(place)
	return without(all, others), err
}
