// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/fleet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Status describes the controller of a hosted cluster.
type Status struct {
	Cluster   cluster.Place    `json:"cluster,omitempty" doc:"cluster in which the controller runs; absent if it is not installed"`
	Namespace string           `json:"namespace,omitempty" doc:"namespace of the controller"`
	Image     string           `json:"image,omitempty" doc:"image of the controller"`
	Replicas  int32            `json:"replicas" doc:"number of replicas that must run"`
	Ready     int32            `json:"ready" doc:"number of replicas that are ready"`
	Leader    fleet.Leader     `json:"leader" doc:"replica that works"`
	Published []Published      `json:"published" doc:"published user data, sorted by NodePool"`
	Decisions []fleet.Event    `json:"decisions" doc:"last decisions on CSRs and upgrades of which Events exist, the oldest first"`
	Problems  []report.Problem `json:"problems" doc:"why the controller does not work, or publishes nothing newer"`
}

// Published describes the published user data of a NodePool.
type Published struct {
	NodePool string     `json:"nodePool" doc:"name of the NodePool"`
	Release  string     `json:"release" doc:"OpenShift release"`
	Config   string     `json:"config" doc:"hash of the configuration"`
	Since    time.Time  `json:"since" doc:"time at which it was written"`
	Expires  *time.Time `json:"expires,omitempty" doc:"time until which it is valid; absent if this is unknown"`
	Problem  string     `json:"problem,omitempty" doc:"why newer user data is not published"`
}

// maxDecisions is the number of decisions in a status.
const maxDecisions = 5

// Status reads the status of the controller from both clusters.
func (i *Installer) Status(ctx context.Context, now time.Time) (*Status, error) {
	s := &Status{}
	if err := i.readDeployment(ctx, s); err != nil {
		return nil, err
	}
	hosted := fleet.Client{Cluster: i.Hosted}
	var err error
	if s.Leader, err = hosted.Leader(ctx, now); err != nil {
		return nil, err
	}
	if s.Leader.Problem != "" && len(s.Problems) == 0 {
		s.Problems = append(s.Problems, report.Problem{Message: s.Leader.Problem, Remedy: i.logRemedy(s.Cluster)})
	}
	if err := i.readPublished(ctx, s, now); err != nil {
		return nil, err
	}
	s.Decisions, err = hosted.Decisions(ctx, func(event *corev1.Event) bool {
		return strings.HasPrefix(event.Reason, "CSR") || strings.HasPrefix(event.Reason, "Upgrade")
	})
	s.Decisions = s.Decisions[max(0, len(s.Decisions)-maxDecisions):]
	return s, err
}

// readDeployment reads the Deployment, and why its pods do not run.
func (i *Installer) readDeployment(ctx context.Context, s *Status) error {
	deployment, in, err := i.deployment(ctx)
	if err != nil {
		return err
	}
	if deployment == nil {
		s.Problems = append(s.Problems, report.Problem{
			Message: fmt.Sprintf("the controller of HostedCluster %s is not installed", i.HostedCluster),
			Remedy:  report.Remedyf("hcp-node-admin controller install %s --image IMAGE", i.HostedCluster.Name),
		})
		return nil
	}
	s.Cluster, s.Namespace, s.Image = in.Place, deployment.Namespace, deployment.Spec.Template.Spec.Containers[0].Image
	s.Replicas, s.Ready = *deployment.Spec.Replicas, deployment.Status.ReadyReplicas
	if s.Ready >= s.Replicas && s.Replicas > 0 {
		return nil
	}
	message := fmt.Sprintf("%d of %d replicas of the controller are ready", s.Ready, s.Replicas)
	if cause := podProblem(ctx, in, deployment); cause != "" {
		message += "; " + cause
	}
	s.Problems = append(s.Problems, report.Problem{Message: message, Remedy: report.Remedyf(
		"oc --kubeconfig %s.kubeconfig -n %s describe pods -l app.kubernetes.io/component=controller", in.Place,
		s.Namespace)})
	return nil
}

// logRemedy returns the command that prints the log of the controller, "" if it is not installed.
func (s Settings) logRemedy(in cluster.Place) report.Remedy {
	if in == "" {
		return ""
	}
	return report.Remedyf("oc --kubeconfig %s.kubeconfig -n %s logs -l app.kubernetes.io/component=controller --prefix",
		in, s.namespaceIn(in))
}

// readPublished reads the metadata of the published user data.
func (i *Installer) readPublished(ctx context.Context, s *Status, now time.Time) error {
	var secrets metav1.PartialObjectMetadataList
	secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if err := i.Hosted.List(ctx, &secrets, client.InNamespace(v1alpha1.Namespace),
		client.HasLabels{v1alpha1.LabelNodePool}); err != nil {
		return err
	}
	for n := range secrets.Items {
		secret := &secrets.Items[n]
		state := v1alpha1.StateOfPublished(secret)
		one := Published{
			NodePool: v1alpha1.PublishedNodePool(secret), Release: state.Release, Config: state.Config,
			Since: secret.CreationTimestamp.UTC(), Problem: state.Problem,
		}
		if one.NodePool == "" {
			continue
		}
		for _, write := range secret.ManagedFields {
			if write.Time != nil && write.Time.After(one.Since) {
				one.Since = write.Time.UTC()
			}
		}
		if !state.Expires.IsZero() {
			one.Expires = &state.Expires
		}
		if one.Problem == "" && one.Expires != nil && now.After(*one.Expires) {
			one.Problem = "it has expired: hosts cannot join, and nodes cannot be upgraded"
		}
		if one.Problem != "" {
			s.Problems = append(s.Problems, report.Problem{
				Message: "the user data of NodePool " + one.NodePool + ": " + one.Problem, Remedy: i.logRemedy(s.Cluster),
			})
		}
		s.Published = append(s.Published, one)
	}
	slices.SortFunc(s.Published, func(a, b Published) int { return strings.Compare(a.NodePool, b.NodePool) })
	return nil
}
