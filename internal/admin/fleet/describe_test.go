// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/apitest"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
)

// hostileText contains control characters, which a terminal must not get.
const hostileText = "\x1b[2J\x1b]0;title\x07\r\nok \u009b31m\u202e"

// now is the time to which the printed ages are relative.
var now = time.Now().Truncate(time.Second)

// newEnrollment returns a valid NodeEnrollment of node a.
func newEnrollment(t *testing.T) *v1alpha1.NodeEnrollment {
	t.Helper()
	_, record, err := enrollment.New(enrollment.Options{NodeName: "a", ClusterCA: certtest.NewCA(t, "ca").PEM}, now)
	if err != nil {
		t.Fatal(err)
	}
	object, err := record.Object()
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// newEvent returns an Event of the object a of a kind.
func newEvent(kind, reason, message string, age time.Duration) *corev1.Event {
	return &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "a" + reason},
		InvolvedObject: corev1.ObjectReference{Kind: kind, Name: "a"}, Type: corev1.EventTypeWarning,
		Reason: reason, Message: message, LastTimestamp: metav1.NewTime(now.Add(-age)),
	}
}

// startDescribed starts a cluster with all objects of node a, whose agent and cluster write hostile texts.
func startDescribed(t *testing.T) *hostedCluster {
	t.Helper()
	h := startHostedCluster(t, apitest.Enrollments)
	enrolled := newEnrollment(t)
	enrolled.Spec.Reinstall = v1alpha1.ReinstallRefuse
	enrolled.Spec.UsedBy = &v1alpha1.TokenUse{Key: "SHA256:00", At: metav1.NewTime(now)}
	enrolled.Status = v1alpha1.NodeEnrollmentStatus{
		Phase: v1alpha1.PhaseFailed, Reason: "kubelet stopped",
		Conditions: []metav1.Condition{{
			Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "NodeNotReady", Message: hostileText,
			LastTransitionTime: metav1.NewTime(now.Add(-2 * time.Hour)),
		}, {
			Type: v1alpha1.ConditionCertificateExpiring, Status: metav1.ConditionFalse, Reason: "Valid",
		}},
	}
	h.Set(t, enrolled, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: map[string]string{
			v1alpha1.AnnotationState: "Degraded", v1alpha1.AnnotationReason: strings.Repeat(hostileText, 8000),
		}},
		Spec: corev1.NodeSpec{Unschedulable: true},
		Status: corev1.NodeStatus{
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.7"}},
		},
	}, &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "csr-a"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: certificatesv1.KubeletServingSignerName, Username: "system:node:a",
		},
	}, &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "csr-b"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: certificatesv1.KubeletServingSignerName, Username: "system:node:b",
		},
	},
		newEvent("Node", "Rebooted", hostileText, time.Hour),
		newEvent("NodeEnrollment", "NodeFailed", "kubelet stopped", 30*time.Minute),
		newEvent("Pod", "Killing", "of another object", time.Minute))
	return h
}

// describe returns the description of node a, and its text.
func (h *hostedCluster) describe(t *testing.T) (*Description, string) {
	t.Helper()
	d, err := h.client.Describe(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	d.Print(&report.Page{Writer: &out}, now)
	return d, out.String()
}

func TestDescribe(t *testing.T) {
	d, text := startDescribed(t).describe(t)
	at := 0
	for _, want := range []string{
		"a: the agent reports: [2J]0;title  ok 31m",
		"Name:               a\nPhase:              Failed\nReason:             kubelet stopped\n", "\nEnrollment:\n",
		"  Reinstall:        Refuse\n", "  Used key:         SHA256:00\n",
		"  Ready:            False since 120m: NodeNotReady: [2J]0;title  ok 31m\n",
		"  CertificateExpiring: False", "\nNode:\n", "  Addresses:        InternalIP=192.0.2.7\n",
		"  Cordoned:         yes\n",
		"\nAgent, as the node itself reports:\n  State:            Degraded\n  Reason:           [2J]0;title  ok 31m",
		"\nCSRs:\n  csr-a: serving, Pending, ", "\nEvents:\n  60m    Warning  Rebooted: [2J]0;title  ok 31m\n",
		"  30m    Warning  NodeFailed: kubelet stopped\n", "\nNext:\n  - no controller runs: its Lease ",
		"\n  - find the cause of the state in the first line\n", "hcp-node-agent doctor\n",
	} {
		found := strings.Index(text[at:], want)
		if found < 0 {
			t.Fatalf("%q is not printed, or not in this order:\n%s", want, text)
		}
		at += found
	}
	if len(d.CSRs) != 1 || len(d.Events) != 2 || len(text) > 8000 || strings.ContainsAny(text, "\x1b\x07\r\u009b\u202e") {
		t.Errorf("%d bytes: %q", len(text), text)
	}
}

// Objects that do not exist or cannot be read are named.
func TestDescribeWithoutAllObjects(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*testing.T, *hostedCluster)
		want   string
	}{
		"without a NodeEnrollment": {
			func(t *testing.T, h *hostedCluster) { h.Delete(t, newEnrollment(t)) },
			"the Node has no NodeEnrollment",
		},
		"without a Node": {
			func(t *testing.T, h *hostedCluster) {
				h.Delete(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
			}, "\nNode:               does not exist\n",
		},
		"invalid": {
			func(t *testing.T, h *hostedCluster) {
				object := newEnrollment(t)
				object.Spec.PublicKey = "none"
				h.Set(t, object)
			}, "\n  Invalid:          publicKey: ",
		},
		"without the permission for Nodes": {
			func(_ *testing.T, h *hostedCluster) {
				h.Before = apitest.Reject(http.MethodGet, "/nodes/a", apitest.Forbidden())
			}, "not shown: nodes, which the credential must not read\n",
		},
		"without the permission for CSRs": {
			func(_ *testing.T, h *hostedCluster) {
				h.Before = apitest.Reject(http.MethodGet, "/certificatesigningrequests", apitest.Forbidden())
			}, "not shown: certificatesigningrequests, which the credential must not read\n",
		},
		"without the permission for Events": {
			func(_ *testing.T, h *hostedCluster) {
				h.Before = apitest.Reject(http.MethodGet, "/events", apitest.Forbidden())
			}, "not shown: events, which the credential must not read\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := startDescribed(t)
			test.change(t, h)
			_, text := h.describe(t)
			isHidden := strings.Contains(name, "Nodes")
			if !strings.Contains(text, test.want) || isHidden && strings.Contains(text, "Node:               does not exist") {
				t.Errorf("%q is not printed:\n%s", test.want, text)
			}
		})
	}
	_, err := startDescribed(t).client.Describe(t.Context(), "other")
	reporttest.CheckFailure(t, err, report.Usage, "neither a NodeEnrollment nor a Node other exists")
}

// Only the newest Events are in a description.
func TestDescribeLimitsEvents(t *testing.T) {
	h := startDescribed(t)
	for n := range maxEvents {
		h.Set(t, newEvent("Node", fmt.Sprintf("Reason%d", n), "m", time.Duration(n)*time.Second))
	}
	d, text := h.describe(t)
	if len(d.Events) != maxEvents || strings.Contains(text, "Rebooted") || d.Events[maxEvents-1].Reason != "Reason0" {
		t.Errorf("%d Events:\n%s", len(d.Events), text)
	}
}

// The first line has the cause, and the message of kubelet, which is in three objects, is printed once.
func TestDescribePrintsMessagesOnce(t *testing.T) {
	const message = "container runtime network not ready"
	for name, test := range map[string]struct {
		state, reason, want string
	}{
		"diagnosis of the agent": {"Degraded", "the network plugin is not running", "the agent reports: the network plugin " +
			"is not running\nName:               a\nPhase:              Failed\nReason:             " + message + "\n"},
		"only kubelet": {"Healthy", "", "the node is Failed: " + message + "\nName:               a\nPhase:  "},
	} {
		t.Run(name, func(t *testing.T) {
			h := startHostedCluster(t, apitest.Enrollments)
			enrolled := newEnrollment(t)
			enrolled.Status = v1alpha1.NodeEnrollmentStatus{
				Phase: v1alpha1.PhaseFailed, Reason: message,
				Conditions: []metav1.Condition{
					{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "NotReady", Message: message},
					{
						Type: v1alpha1.ConditionCertificateExpiring, Status: metav1.ConditionFalse,
						LastTransitionTime: metav1.NewTime(now),
					},
				},
			}
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: map[string]string{
				v1alpha1.AnnotationState: test.state, v1alpha1.AnnotationReason: test.reason,
			}}}
			node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: "False", Message: message}}
			h.Set(t, enrolled, node)
			_, text := h.describe(t)
			if !strings.HasPrefix(text, "a: "+test.want) || strings.Count(text, message) != 1 ||
				!strings.Contains(text, "  CertificateExpiring: False since 0s\n") {
				t.Error(text)
			}
		})
	}
}

// Without a controller nothing in a NodeEnrollment is current. A missing permission is no failure.
func TestControllerProblem(t *testing.T) {
	holder := "replica"
	lease := func(holder *string, age time.Duration) *coordinationv1.Lease {
		renewed := metav1.NewMicroTime(now.Add(-age))
		return &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: v1alpha1.ControllerName},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: holder, RenewTime: &renewed},
		}
	}
	const name = "its Lease hcp-node-admin/hcp-node-admin-controller "
	for text, test := range map[string]struct {
		lease *coordinationv1.Lease
		want  string
	}{
		"works":     {lease(&holder, time.Second), ""},
		"forbidden": {nil, ""},
		"missing":   {nil, name + "does not exist"},
		"released":  {lease(nil, time.Second), "no replica holds the Lease"},
		"old":       {lease(&holder, time.Hour), name + "in the hosted cluster was last renewed at "},
	} {
		t.Run(text, func(t *testing.T) {
			h := startHostedCluster(t)
			if test.lease != nil {
				h.Set(t, test.lease)
			}
			if text == "forbidden" {
				h.Before = apitest.Reject(http.MethodGet, "/"+v1alpha1.ControllerName, apitest.Forbidden())
			}
			got := h.client.ControllerProblem(t.Context(), now)
			if (test.want == "") != (got == "") || !strings.Contains(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// The upgrade of a node has the time of its slot.
func TestDescribeUpgrade(t *testing.T) {
	h := startHostedCluster(t, apitest.Enrollments)
	enrolled := newEnrollment(t)
	enrolled.Spec.NodePool, enrolled.Status.Phase = "workers", v1alpha1.PhaseUpgrading
	rollout := &v1alpha1.NodeRollout{ObjectMeta: metav1.ObjectMeta{Name: "workers"}}
	rollout.Status.Slots = []v1alpha1.UpgradeSlot{{Node: "a", Given: metav1.NewMicroTime(now)}}
	h.Set(t, enrolled, rollout, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	if _, text := h.describe(t); !strings.HasPrefix(text, "a: upgrade in progress since "+report.Timestamp(now)+"\n") {
		t.Error(text)
	}
}
