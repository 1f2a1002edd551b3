// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/lostnodes"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/rollout"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
)

// scrape sends the metrics of one scrape.
type scrape struct {
	reader  client.Reader
	samples chan<- prometheus.Metric
	now     time.Time
}

func (s *scrape) add(desc *prometheus.Desc, value float64, labels ...string) {
	sample, err := prometheus.NewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	if err != nil {
		sample = prometheus.NewInvalidMetric(desc, err)
	}
	s.samples <- sample
}

// addTime adds a time. A nil one is unknown.
func (s *scrape) addTime(desc *prometheus.Desc, value *metav1.Time, labels ...string) {
	if value != nil {
		s.add(desc, float64(value.Unix()), labels...)
	}
}

// list lists objects of the cache without copying them. They must not be changed.
func (s *scrape) list(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if err := s.reader.List(ctx, list, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		return fmt.Errorf("reading the cache: %w", err)
	}
	return nil
}

// poolCounts contains numbers of nodes of a NodePool.
type poolCounts struct {
	phases   map[v1alpha1.Phase]int
	releases map[string]int
	outdated int
	waiting  int // joins
}

func (s *scrape) addEnrollments(ctx context.Context) error {
	var records v1alpha1.NodeEnrollmentList
	if err := s.list(ctx, &records); err != nil {
		return err
	}
	csrs := &metav1.PartialObjectMetadataList{}
	csrs.SetGroupVersionKind(certificatesv1.SchemeGroupVersion.WithKind("CertificateSigningRequestList"))
	if err := s.list(ctx, csrs); err != nil {
		return err
	}
	presented := map[string]bool{} // IDs of join tokens
	for i := range csrs.Items {
		presented[csrs.Items[i].Annotations[enrollment.AnnotationID]] = true
	}
	pools := map[string]*poolCounts{}
	for i := range records.Items {
		record := &records.Items[i]
		pool, status := record.Spec.NodePool, record.Status
		if pools[pool] == nil {
			pools[pool] = &poolCounts{phases: map[v1alpha1.Phase]int{}, releases: map[string]int{}}
		}
		pools[pool].phases[cmp.Or(status.Phase, v1alpha1.PhasePending)]++
		if meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionJoined) {
			pools[pool].releases[cmp.Or(status.Release, "unknown")]++
		}
		if meta.IsStatusConditionFalse(status.Conditions, v1alpha1.ConditionUpToDate) {
			pools[pool].outdated++
		}
		if record.Spec.TokenID != "" && record.Spec.UsedBy == nil && presented[record.Spec.TokenID] {
			pools[pool].waiting++
		}
		s.addTime(certificateDesc, status.CertificateExpires, pool, record.Name)
		s.addTime(reportDesc, status.LastReport, pool, record.Name)
	}
	for pool, counts := range pools {
		for _, phase := range v1alpha1.Phases() { // one without nodes has the value 0
			s.add(enrollmentsDesc, float64(counts.phases[phase]), pool, string(phase))
		}
		for release, count := range mergeReleases(counts.releases) {
			s.add(nodesDesc, float64(count), pool, release)
		}
		s.add(outdatedDesc, float64(counts.outdated), pool)
		s.add(waitingJoinsDesc, float64(counts.waiting), pool)
	}
	return nil
}

const (
	// maxReleases limits the releases of a NodePool that have a time series. Nodes can report any.
	maxReleases  = 10
	otherRelease = "other"
)

// mergeReleases returns the numbers of nodes of the most frequent releases, and of all others together.
func mergeReleases(counts map[string]int) map[string]int {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	merged := map[string]int{}
	for i, name := range names {
		if i < maxReleases {
			merged[name] += counts[name]
		} else {
			merged[otherRelease] += counts[name]
		}
	}
	return merged
}

// addLostNodes adds the Nodes that exist although they were removed as lost.
func (s *scrape) addLostNodes(ctx context.Context) error {
	lost, err := lostnodes.Read(ctx, s.reader)
	if err != nil {
		return fmt.Errorf("reading the cache: %w", err)
	}
	if len(lost) == 0 {
		return nil
	}
	var nodes corev1.NodeList
	if err := s.list(ctx, &nodes); err != nil {
		return err
	}
	for i := range nodes.Items {
		if _, isLost := lost[nodes.Items[i].Name]; isLost {
			s.add(lostNodeDesc, 1, nodes.Items[i].Name)
		}
	}
	return nil
}

// addUserDataAndRollouts adds the metrics of the published user data and of the NodeRollouts, which depend on it.
func (s *scrape) addUserDataAndRollouts(ctx context.Context) error {
	secrets := &metav1.PartialObjectMetadataList{}
	secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if err := s.list(ctx, secrets, client.InNamespace(v1alpha1.Namespace)); err != nil {
		return err
	}
	published := map[string]*metav1.PartialObjectMetadata{}
	for i := range secrets.Items {
		secret := &secrets.Items[i]
		pool := v1alpha1.PublishedNodePool(secret)
		if pool == "" {
			continue
		}
		published[pool] = secret
		state := v1alpha1.StateOfPublished(secret)
		if !state.Expires.IsZero() {
			s.add(userDataExpiryDesc, float64(state.Expires.Unix()), pool)
		}
		s.add(userDataProblemDesc, numberOf(state.Problem != ""), pool)
	}
	var rollouts v1alpha1.NodeRolloutList
	if err := s.list(ctx, &rollouts); err != nil {
		return err
	}
	for i := range rollouts.Items {
		s.addRollout(&rollouts.Items[i], published[rollouts.Items[i].Name])
	}
	return nil
}

func (s *scrape) addRollout(object *v1alpha1.NodeRollout, secret *metav1.PartialObjectMetadata) {
	pool, status := object.Name, object.Status
	s.add(rolloutNodesDesc, float64(status.Nodes), pool)
	s.add(rolloutUpdatedDesc, float64(status.Updated), pool)
	s.add(rolloutUnavailableDesc, float64(status.Unavailable), pool)
	s.add(rolloutFailedDesc, float64(status.Failed), pool)
	s.add(rolloutMaxFailuresDesc, float64(object.Spec.MaxFailures), pool)
	isPoolPaused := secret != nil && v1alpha1.StateOfPublished(secret).Paused != ""
	window, _ := rollout.WindowOf(object.Spec) // an invalid one blocks the rollout, and is nil
	isWindowClosed := secret != nil && !window.IsOpen(s.now)
	s.add(rolloutPausedDesc, numberOf(object.Spec.Paused), pool, "noderollout")
	s.add(rolloutPausedDesc, numberOf(isPoolPaused), pool, "nodepool")
	s.add(rolloutPausedDesc, numberOf(isWindowClosed), pool, "window")
	s.add(rolloutSlotsDesc, float64(len(status.Slots)), pool)
	var oldest time.Time
	for _, slot := range status.Slots {
		if oldest.IsZero() || slot.Given.Time.Before(oldest) {
			oldest = slot.Given.Time
		}
	}
	if !oldest.IsZero() {
		s.add(rolloutOldestSlotDesc, float64(oldest.Unix()), pool)
	}
}

// addRemediations adds the metrics of the NodeRemediations.
func (s *scrape) addRemediations(ctx context.Context) error {
	var remediations v1alpha1.NodeRemediationList
	if err := s.list(ctx, &remediations); err != nil {
		return err
	}
	for i := range remediations.Items {
		pool, status := remediations.Items[i].Name, remediations.Items[i].Status
		isBlocked := meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionBlocked)
		s.add(remediatedDesc, float64(len(status.Remediated)), pool)
		s.add(remediationUnhealthyDesc, float64(status.Unhealthy), pool)
		s.add(remediationBlockedDesc, numberOf(isBlocked), pool)
	}
	return nil
}

// numberOf returns 1 for true.
func numberOf(condition bool) float64 {
	if condition {
		return 1
	}
	return 0
}
