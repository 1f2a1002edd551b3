// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
)

// Progress is the state of the upgrade of a NodePool.
type Progress struct {
	NodePool  string
	Rollout   *v1alpha1.NodeRollout // nil if it does not exist
	Published v1alpha1.PublishedState
	Nodes     []v1alpha1.NodeEnrollment // those that have joined
	Steps     map[string]string         // what the agents of the nodes with a slot report
	Events    []Event                   // of upgrades that were permitted or completed
	ByYou     bool                      // this run has paused the rollout
}

// Progress returns the state of the upgrade of a NodePool. object is nil without a NodeRollout. What the credential
// must not read is empty.
func (c Client) Progress(ctx context.Context, nodePool string, object *v1alpha1.NodeRollout) (*Progress, error) {
	p := &Progress{NodePool: nodePool, Rollout: object, Steps: map[string]string{}}
	var all v1alpha1.NodeEnrollmentList
	if err := permitted(c.List(ctx, &all)); err != nil {
		return nil, err
	}
	for _, one := range all.Items {
		if one.Spec.NodePool == nodePool && one.Status.Release+one.Status.ConfigHash != "" {
			p.Nodes = append(p.Nodes, one)
		}
	}
	secret, err := c.publishedSecret(ctx, nodePool)
	if err := permitted(err); err != nil {
		return nil, err
	}
	if secret != nil {
		p.Published = v1alpha1.StateOfPublished(secret)
	}
	if object == nil {
		return p, nil
	}
	for _, slot := range object.Status.Slots {
		node := &corev1.Node{}
		_, err := c.Find(ctx, client.ObjectKey{Name: slot.Node}, node)
		if err := permitted(err); err != nil {
			return nil, err
		}
		d := Description{Node: node}
		p.Steps[slot.Node] = d.agent(v1alpha1.AnnotationBlocked)
		if d.isUpgrading() {
			p.Steps[slot.Node] = d.agent(v1alpha1.AnnotationReason)
		}
	}
	p.Events, err = c.Decisions(ctx, func(event *corev1.Event) bool {
		return event.Related != nil && event.Related.Kind == "NodeRollout" && event.Related.Name == nodePool
	})
	return p, permitted(err)
}

// permitted returns err unless it is a missing permission.
func permitted(err error) error {
	if apierrors.IsForbidden(err) {
		return nil
	}
	return err
}

// publishedSecret returns the metadata of the Secret with the user data of a NodePool, nil if the user data is not
// published.
func (c Client) publishedSecret(ctx context.Context, nodePool string) (*metav1.PartialObjectMetadata, error) {
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	key := client.ObjectKey{Namespace: v1alpha1.Namespace, Name: v1alpha1.UserDataSecret(nodePool)}
	exists, err := c.Find(ctx, key, secret)
	if err != nil || !exists {
		return nil, err
	}
	return secret, nil
}

// pace returns the number of upgrades to a configuration that were completed, and how many of them one hour has. It
// returns 0 nodes in one hour if too little is recorded.
func (p *Progress) pace(config string) (count int, perHour float64) {
	var begin, end time.Time
	for _, event := range p.Events { // the oldest first
		if !strings.HasSuffix(event.Message, " "+config) {
			continue
		}
		switch event.Reason {
		case "UpgradePermitted":
			if begin.IsZero() {
				begin = event.Time
			}
		case "UpgradeCompleted":
			if begin.IsZero() { // that of its permission is no longer recorded
				begin = event.Time
				continue
			}
			count, end = count+1, event.Time
		}
	}
	const enough = 2
	if elapsed := end.Sub(begin); count >= enough && elapsed > 0 {
		return count, float64(count) / elapsed.Hours()
	}
	return count, 0
}

// pausedBy returns with which program, and when, the pause was set last, "" if it is unknown: the API server records no
// changes of an object that was created with an empty specification.
func (p *Progress) pausedBy() (manager string, at time.Time) {
	for _, one := range slices.Backward(p.Rollout.ManagedFields) {
		if one.FieldsV1 != nil && one.Time != nil && strings.Contains(string(one.FieldsV1.Raw), `"f:paused"`) {
			return text(one.Manager), one.Time.Time
		}
	}
	return "", time.Time{}
}
