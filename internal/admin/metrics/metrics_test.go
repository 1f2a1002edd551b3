// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/lostnodes"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// fixedReader lists fixed objects.
type fixedReader struct {
	client.Reader
	enrollments  []v1alpha1.NodeEnrollment
	rollouts     []v1alpha1.NodeRollout
	remediations []v1alpha1.NodeRemediation
	secrets      []metav1.PartialObjectMetadata
	csrs         []metav1.PartialObjectMetadata
	nodes        []corev1.Node
	lost         map[string]string
	err          error
}

func (r fixedReader) Get(
	_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption,
) error {
	list, isList := object.(*corev1.ConfigMap)
	if !isList || key != lostnodes.Key() {
		return fmt.Errorf("get of %T %s", object, key)
	}
	list.Data = r.lost
	return r.err
}

func (r fixedReader) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch list := list.(type) {
	case *v1alpha1.NodeEnrollmentList:
		list.Items = r.enrollments
	case *corev1.NodeList:
		list.Items = r.nodes
	case *v1alpha1.NodeRolloutList:
		list.Items = r.rollouts
	case *v1alpha1.NodeRemediationList:
		list.Items = r.remediations
	case *metav1.PartialObjectMetadataList:
		if list.Items = r.secrets; list.Kind == "CertificateSigningRequestList" {
			list.Items = r.csrs
		}
	default:
		return fmt.Errorf("list of %T", list)
	}
	return r.err
}

// fleetTime is the time of the example.
var fleetTime = time.Unix(1_800_000_000, 0)

// exampleFleet returns two NodePools: workers in an upgrade, with a failure, and a lost node of edge, which is paused.
func exampleFleet() fixedReader {
	timeOf := func(t time.Time) *metav1.Time { return ptr.To(metav1.NewTime(t)) }
	enrolled := func(pool, name string, phase v1alpha1.Phase, release string, upToDate metav1.ConditionStatus,
	) v1alpha1.NodeEnrollment {
		object := v1alpha1.NodeEnrollment{Spec: v1alpha1.NodeEnrollmentSpec{NodePool: pool}}
		object.Name, object.Status.Phase, object.Status.Release = name, phase, release
		if phase != v1alpha1.PhasePending {
			object.Status.LastReport = timeOf(fleetTime.Add(-time.Minute))
			object.Status.CertificateExpires = timeOf(fleetTime.Add(240 * time.Hour))
			object.Status.Conditions = []metav1.Condition{
				{Type: v1alpha1.ConditionJoined, Status: metav1.ConditionTrue},
				{Type: v1alpha1.ConditionUpToDate, Status: upToDate},
			}
		}
		return object
	}
	slot := func(node string, age time.Duration) v1alpha1.UpgradeSlot {
		return v1alpha1.UpgradeSlot{Node: node, Config: "new", Given: metav1.NewMicroTime(fleetTime.Add(-age))}
	}
	published := func(pool string, annotations map[string]string) metav1.PartialObjectMetadata {
		var secret metav1.PartialObjectMetadata
		secret.Name, secret.Labels = v1alpha1.UserDataSecret(pool), map[string]string{v1alpha1.LabelNodePool: pool}
		secret.Annotations = annotations
		return secret
	}
	workers := v1alpha1.NodeRollout{
		Spec: v1alpha1.NodeRolloutSpec{MaxFailures: 2},
		Status: v1alpha1.NodeRolloutStatus{
			Nodes: 4, Updated: 1, Unavailable: 2, Failed: 1,
			Slots: []v1alpha1.UpgradeSlot{slot("b", time.Minute), slot("c", time.Hour)},
		},
	}
	edge := v1alpha1.NodeRollout{Spec: v1alpha1.NodeRolloutSpec{
		// Open for a minute of each 29th of February.
		Window: &v1alpha1.MaintenanceWindow{Schedule: "0 0 29 2 *", Duration: metav1.Duration{Duration: time.Minute}},
		Paused: true,
	}}
	workers.Name, edge.Name = "workers", "edge"
	remediation := v1alpha1.NodeRemediation{Status: v1alpha1.NodeRemediationStatus{
		Unhealthy: 2, Remediated: []v1alpha1.RemediatedNode{{Node: "b"}},
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionBlocked, Status: metav1.ConditionTrue}},
	}}
	remediation.Name = "workers"
	withToken := func(id string) (csr metav1.PartialObjectMetadata) {
		csr.Annotations = map[string]string{enrollment.AnnotationID: id}
		return csr
	}
	copied := published("workers", nil)
	copied.Name = "backup" // of another program: not the user data of the NodePool
	waiting := enrolled("workers", "e", v1alpha1.PhasePending, "", "")
	waiting.Spec.TokenID = "waiting"
	joined := enrolled("workers", "a", v1alpha1.PhaseReady, "4.21.3", metav1.ConditionTrue)
	joined.Spec.TokenID, joined.Spec.UsedBy = "used", &v1alpha1.TokenUse{}
	return fixedReader{
		csrs: []metav1.PartialObjectMetadata{
			withToken("waiting"), withToken("waiting"), withToken("used"), withToken("?"), {},
		},
		enrollments: []v1alpha1.NodeEnrollment{
			joined,
			enrolled("workers", "b", v1alpha1.PhaseUpgrading, "4.21.2", metav1.ConditionFalse),
			enrolled("workers", "c", v1alpha1.PhaseUpgrading, "4.21.2", metav1.ConditionFalse),
			enrolled("workers", "d", v1alpha1.PhaseFailed, "4.21.2", metav1.ConditionFalse),
			waiting,
			enrolled("edge", "f", v1alpha1.PhaseLost, "", metav1.ConditionUnknown),
		},
		rollouts:     []v1alpha1.NodeRollout{workers, edge},
		remediations: []v1alpha1.NodeRemediation{remediation},
		nodes: []corev1.Node{
			{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, {ObjectMeta: metav1.ObjectMeta{Name: "stolen"}},
		},
		lost: map[string]string{"stolen": "removed", "deleted": "removed"},
		secrets: []metav1.PartialObjectMetadata{
			copied,
			published("workers", map[string]string{
				v1alpha1.AnnotationPoolExpires: report.Timestamp(fleetTime.Add(time.Hour)),
			}),
			published("edge", map[string]string{
				v1alpha1.AnnotationPoolPaused: "until tomorrow", v1alpha1.AnnotationPoolProblem: "no valid payload",
			}),
		},
	}
}

// scrapeFleet returns the status and the text of a scrape of the controller's metrics.
func scrapeFleet(t *testing.T, reader client.Reader) (status int, text string) {
	t.Helper()
	collector := &fleetCollector{}
	collector.reader.Store(&reader)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(collector, csrDecisions, publishedTimes)
	register()
	RecordPublished("deleted", time.Unix(1_799_999_000, 0))
	RecordPublished("deleted", time.Time{})
	RecordPublished("workers", time.Unix(1_799_999_000, 0))
	recorder := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(recorder, httptest.NewRequest("GET", "/metrics", nil))
	return recorder.Code, recorder.Body.String()
}

func TestMetrics(t *testing.T) {
	status, text := scrapeFleet(t, exampleFleet())
	if status != 200 {
		t.Fatalf("HTTP status %d: %s", status, text)
	}
	var got []string
	for line := range strings.Lines(text) {
		sample, isOwn := strings.CutPrefix(strings.TrimSpace(line), prefix)
		isZero := strings.HasPrefix(sample, "enrollments") && strings.HasSuffix(sample, "} 0")
		if isOwn && !isZero && !strings.HasPrefix(sample, "csr_") {
			got = append(got, sample)
		}
	}
	var want []string
	for _, node := range []string{"edge,f", "workers,a", "workers,b", "workers,c", "workers,d"} {
		pool, name, _ := strings.Cut(node, ",")
		labels := fmt.Sprintf("{node=%q,nodepool=%q} ", name, pool)
		want = append(want, "node_certificate_expiration_timestamp_seconds"+labels+"1.800864e+09",
			"node_last_report_timestamp_seconds"+labels+"1.79999994e+09")
	}
	want = append(want,
		`enrollments{nodepool="edge",phase="Lost"} 1`,
		`enrollments{nodepool="workers",phase="Failed"} 1`,
		`enrollments{nodepool="workers",phase="Pending"} 1`,
		`enrollments{nodepool="workers",phase="Ready"} 1`,
		`enrollments{nodepool="workers",phase="Upgrading"} 2`,
		`lost_node_exists{node="stolen"} 1`,
		`nodes{nodepool="edge",release="unknown"} 1`,
		`nodes{nodepool="workers",release="4.21.2"} 3`,
		`nodes{nodepool="workers",release="4.21.3"} 1`,
		`outdated_nodes{nodepool="edge"} 0`,
		`outdated_nodes{nodepool="workers"} 3`,
		`remediated_nodes{nodepool="workers"} 1`,
		`remediation_blocked{nodepool="workers"} 1`,
		`remediation_unhealthy_nodes{nodepool="workers"} 2`,
		`rollout_failed_nodes{nodepool="edge"} 0`,
		`rollout_failed_nodes{nodepool="workers"} 1`,
		`rollout_max_failures{nodepool="edge"} 0`,
		`rollout_max_failures{nodepool="workers"} 2`,
		`rollout_nodes{nodepool="edge"} 0`,
		`rollout_nodes{nodepool="workers"} 4`,
		`rollout_oldest_slot_timestamp_seconds{nodepool="workers"} 1.7999964e+09`,
		`rollout_paused{cause="nodepool",nodepool="edge"} 1`,
		`rollout_paused{cause="nodepool",nodepool="workers"} 0`,
		`rollout_paused{cause="noderollout",nodepool="edge"} 1`,
		`rollout_paused{cause="noderollout",nodepool="workers"} 0`,
		`rollout_paused{cause="window",nodepool="edge"} 1`,
		`rollout_paused{cause="window",nodepool="workers"} 0`,
		`rollout_slots{nodepool="edge"} 0`,
		`rollout_slots{nodepool="workers"} 2`,
		`rollout_unavailable_nodes{nodepool="edge"} 0`,
		`rollout_unavailable_nodes{nodepool="workers"} 2`,
		`rollout_updated_nodes{nodepool="edge"} 0`,
		`rollout_updated_nodes{nodepool="workers"} 1`,
		`user_data_expiration_timestamp_seconds{nodepool="workers"} 1.8000036e+09`,
		`user_data_problem{nodepool="edge"} 1`,
		`user_data_problem{nodepool="workers"} 0`,
		`user_data_published_timestamp_seconds{nodepool="workers"} 1.799999e+09`,
		`waiting_joins{nodepool="edge"} 0`,
		`waiting_joins{nodepool="workers"} 1`,
	)
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
	if count := strings.Count(text, prefix+`enrollments{nodepool="edge"`); count != len(v1alpha1.Phases()) {
		t.Errorf("%d phases of a NodePool have a sample, want %d", count, len(v1alpha1.Phases()))
	}
	for _, outcome := range []string{"approved", "ignored", "refused", "warning"} {
		if !strings.Contains(text, "\n"+prefix+`csr_decisions_total{outcome="`+outcome+`"} `) {
			t.Errorf("no sample of the outcome %s", outcome)
		}
	}
}

// Without published user data, a closed maintenance window is not the reason why a rollout waits.
func TestMetricsWithoutUserData(t *testing.T) {
	fleet := exampleFleet()
	fleet.secrets = nil
	_, text := scrapeFleet(t, fleet)
	if sample := "\n" + prefix + `rollout_paused{cause="window",nodepool="edge"} 0`; !strings.Contains(text, sample) {
		t.Errorf("no sample %s", sample)
	}
}

// An unreadable cache must not look like a fleet without nodes.
func TestMetricsOfUnreadableCache(t *testing.T) {
	status, text := scrapeFleet(t, fixedReader{err: errors.New("no connection")})
	if status != 500 || !strings.Contains(text, "reading the cache: no connection") {
		t.Errorf("HTTP status %d: %s", status, text)
	}
}

// Nodes that report many releases get few time series.
func TestMergeReleases(t *testing.T) {
	counts := map[string]int{"4.21.3": 5, "4.21.2": 3}
	for n := range 100 {
		counts[fmt.Sprintf("0.%02d", n)] = 1
	}
	got := mergeReleases(counts)
	total := 0
	for _, count := range got {
		total += count
	}
	if len(got) != maxReleases+1 || got["4.21.3"] != 5 || got["4.21.2"] != 3 || got[otherRelease] != 92 || total != 108 {
		t.Errorf("mergeReleases() = %v", got)
	}
}
