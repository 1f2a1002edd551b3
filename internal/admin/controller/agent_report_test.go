// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

// usedBy returns the use of a join token with a key.
func usedBy(key string) *v1alpha1.TokenUse {
	return &v1alpha1.TokenUse{Key: key, At: *setTime(time.Now())}
}

// joinedObject returns the NodeEnrollment of a node that has been Ready.
func joinedObject(t *testing.T) *v1alpha1.NodeEnrollment {
	t.Helper()
	_, record, err := enrollment.New(enrollment.Options{
		NodeName: "worker-1", ClusterCA: certtest.NewCA(t, "ca").PEM, Lifetime: time.Hour,
	}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	object, err := record.Object()
	if err != nil {
		t.Fatal(err)
	}
	object.Spec.UsedBy = usedBy("SHA256:00")
	object.Status.Phase = v1alpha1.PhaseReady
	meta.SetStatusCondition(&object.Status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "KubeletReady",
	})
	return object
}

func TestObserveReport(t *testing.T) {
	object, now := joinedObject(t), time.Now()
	published := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
		v1alpha1.AnnotationPoolConfig: "new", v1alpha1.AnnotationPoolRelease: "4.21.3",
	}}}
	const reported, state, reason = v1alpha1.AnnotationReported, v1alpha1.AnnotationState, v1alpha1.AnnotationReason
	const config, expires = v1alpha1.AnnotationCurrentConfig, v1alpha1.AnnotationCertificateExpires
	at := func(after time.Duration) string { return report.Timestamp(now.Add(after)) }
	const noReport = "Unknown NoReport"
	for _, test := range []struct {
		name                        string
		ready                       corev1.ConditionStatus
		since                       time.Duration // of the last change of Ready
		annotations                 map[string]string
		phase                       v1alpha1.Phase
		reason                      string
		upToDate, drifted, expiring string
	}{
		{"no report", "True", 0, nil, "Ready", "", noReport, noReport, noReport},
		{
			"healthy", "True", 0,
			map[string]string{reported: at(-time.Minute), state: "Healthy", config: "new", expires: at(100 * time.Hour)},
			"Ready", "", "True SameConfiguration", "False HostMatches", "False Valid",
		},
		{
			"outdated", "True", 0,
			map[string]string{state: "Healthy", config: "old", expires: at(71 * time.Hour)},
			"Ready", "", "False OtherConfiguration", "False HostMatches", "True ExpiresSoon",
		},
		{
			"expired", "True", 0,
			map[string]string{state: "Healthy", expires: at(-time.Second)},
			"Ready", "", noReport, "False HostMatches", "True Expired",
		},
		{
			"degraded", "True", 0,
			map[string]string{state: "Degraded", reason: "br-ex has no address"},
			"Degraded", "br-ex has no address", noReport, "False HostMatches", noReport,
		},
		{
			"drifted", "True", 0,
			map[string]string{state: "Drifted", reason: "/etc/x differs"},
			"Drifted", "/etc/x differs", noReport, "True HostDiffers", noReport,
		},
		{
			"silent agent", "True", 0,
			map[string]string{reported: at(-31 * time.Minute), state: "Healthy"},
			"Ready", "the agent has not reported since " + at(-31*time.Minute), noReport, "False HostMatches", noReport,
		},
		{
			"upgrading", "True", 0,
			map[string]string{state: "Upgrading", reason: "draining"},
			"Upgrading", "draining", noReport, "False HostMatches", noReport,
		},
		{
			"upgrading and rebooting", "Unknown", 29 * time.Minute,
			map[string]string{state: "Upgrading", reason: "rebooting"},
			"Upgrading", "rebooting", noReport, "False HostMatches", noReport,
		},
		{
			"lost in an upgrade", "Unknown", 31 * time.Minute,
			map[string]string{state: "Upgrading", reason: "rebooting"},
			"Lost", "", noReport, "False HostMatches", noReport,
		},
		{
			"not ready after a healthy report", "False", 0,
			map[string]string{state: "Healthy"},
			"Failed", "", noReport, "False HostMatches", noReport,
		},
		{
			"not ready, with the diagnosis of the agent", "False", 0,
			map[string]string{reported: at(-time.Minute), state: "Degraded", reason: "the network plugin is not running"},
			"Failed", "the network plugin is not running", noReport, "False HostMatches", noReport,
		},
		{
			"not ready, with an old diagnosis", "False", 0,
			map[string]string{reported: at(-31 * time.Minute), state: "Degraded", reason: "br-ex has no address"},
			"Failed", "", noReport, "False HostMatches", noReport,
		},
		{
			"failed upgrade", "True", 0,
			map[string]string{state: "Healthy", v1alpha1.AnnotationFailedSlot: "1", v1alpha1.AnnotationFailure: "no space"},
			"Failed", "the upgrade failed: no space", noReport, "False HostMatches", noReport,
		},
		{
			"failed upgrade without a reason", "True", 0,
			map[string]string{v1alpha1.AnnotationFailedSlot: "1"},
			"Failed", "the upgrade failed: no reason is reported", noReport, noReport, noReport,
		},
		{
			"unknown state", "True", 0,
			map[string]string{state: "Perfect", reported: "yesterday", expires: "never", config: "a b"},
			"Ready", "", noReport, "False HostMatches", noReport,
		},
	} {
		node := &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: test.ready, LastTransitionTime: metav1.NewTime(now.Add(-test.since)),
		}}}}
		node.Annotations = test.annotations
		status := observe(object, node, published, &clock{now: now})
		if status.Phase != test.phase || status.Reason != test.reason {
			t.Errorf("%s: %s %q, want %s %q", test.name, status.Phase, status.Reason, test.phase, test.reason)
		}
		for kind, want := range map[string]string{
			v1alpha1.ConditionUpToDate:            test.upToDate,
			v1alpha1.ConditionDrifted:             test.drifted,
			v1alpha1.ConditionCertificateExpiring: test.expiring,
		} {
			condition := meta.FindStatusCondition(status.Conditions, kind)
			if condition == nil || string(condition.Status)+" "+condition.Reason != want {
				t.Errorf("%s: the condition %s is %+v, want %s", test.name, kind, condition, want)
			}
		}
	}
}

// What a later report lacks remains known. Times of a wrong clock are not in the future.
func TestReportedFacts(t *testing.T) {
	object, now := joinedObject(t), time.Now().Truncate(time.Second)
	node := &corev1.Node{}
	node.Annotations = map[string]string{
		v1alpha1.AnnotationReported: "9999-12-31T23:59:59Z", v1alpha1.AnnotationRelease: "4.21.3",
		v1alpha1.AnnotationCurrentConfig: "0a1b2c", v1alpha1.AnnotationHostClass: "rhcos",
		v1alpha1.AnnotationCertificateExpires: "2027-01-01T00:00:00Z",
	}
	object.Status = observe(object, node, nil, &clock{now: now})
	node.Annotations = map[string]string{v1alpha1.AnnotationRelease: strings.Repeat("4", 65)}
	status := observe(object, node, nil, &clock{now: now})
	if status.Release != "4.21.3" || status.ConfigHash != "0a1b2c" || status.HostClass != "rhcos" ||
		!status.LastReport.Time.Equal(now) || status.CertificateExpires.Year() != 2027 {
		t.Errorf("the status is %+v", status)
	}
}

// A time that the API server does not accept in a status is not copied: it would reject the whole status.
func TestReportedTimes(t *testing.T) {
	for text, want := range map[string]bool{
		"2027-01-01T00:00:00Z": true, "2027-01-01T00:00:00+02:00": true, "9999-12-31T23:59:59-12:00": false,
		"9999-12-31T23:59:59Z": true, "0000-01-01T00:00:00Z": false, "0000-01-01T00:00:00+12:00": false, "never": false,
	} {
		node := &corev1.Node{}
		node.Annotations = map[string]string{v1alpha1.AnnotationCertificateExpires: text, v1alpha1.AnnotationReported: text}
		reported := reportOf(node)
		if reported.certificateExpires.IsZero() == want || reported.at.IsZero() == want {
			t.Errorf("%s: copied %s and %s, want %t", text, reported.certificateExpires, reported.at, want)
		}
	}
}
