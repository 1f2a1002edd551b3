// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/lostnodes"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/apitest"
)

func podOn(node, name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: corev1.PodSpec{NodeName: node},
	}
}

// The pods are deleted before the Node, and those that are created meanwhile after it. The pods of other nodes remain.
func TestRemoveLost(t *testing.T) {
	h := startHostedCluster(t, apitest.Enrollments)
	h.join(t, "a", corev1.ConditionTrue)
	h.join(t, "b", corev1.ConditionTrue)
	h.Set(t, podOn("a", "a-1"), podOn("a", "a-2"), podOn("b", "b-1"))
	h.atDeletion("/nodes/a", func() {
		if names := strings.Join(h.Names(), " "); strings.Contains(names, "Pod/a-") {
			t.Errorf("before the Node is deleted, exist %s", names)
		}
		h.Set(t, podOn("a", "a-3"))
	})
	var deleted []string
	removals, err := h.client.RemoveLost(t.Context(), report.Log{}, []string{"a"}, func(kind, node string) {
		deleted = append(deleted, kind+"/"+node)
	})
	if err != nil || len(removals) != 1 || removals[0].Pods != 3 ||
		!slices.Equal(removals[0].Deleted, []string{"NodeEnrollment", "ServiceAccount", "Node", "Pod"}) ||
		strings.Join(deleted, " ") != "NodeEnrollment/a ServiceAccount/a Node/a Pod/a" {
		t.Errorf("%+v, %v, reported %q", removals, err, deleted)
	}
	left := []string{"Node/b", "NodeEnrollment/b", "Pod/b-1", "ServiceAccount/node-b"}
	if names := h.Names(); !slices.Equal(names, left) {
		t.Errorf("left are %v", names)
	}
	again, err := h.client.RemoveLost(t.Context(), report.Log{}, []string{"a"}, func(string, string) {})
	if err != nil || len(again) != 1 || again[0].Pods != 0 || len(again[0].Deleted) != 0 {
		t.Errorf("again: %+v, %v", again, err)
	}
}

// Pods that cannot be deleted keep the Node, so that a repeated run finds both.
func TestRemoveLostWithoutRightForPods(t *testing.T) {
	h := startHostedCluster(t, apitest.Enrollments)
	h.join(t, "a", corev1.ConditionTrue)
	h.Set(t, podOn("a", "a-1"))
	h.Before = apitest.Reject(http.MethodDelete, "/pods/a-1", apitest.Forbidden())
	removals, err := h.client.RemoveLost(t.Context(), report.Log{}, []string{"a"}, func(string, string) {})
	if report.CodeOf(err) != report.CredentialRefused || len(removals) != 1 || len(removals[0].Deleted) != 2 ||
		!slices.Equal(h.Names(), []string{"Node/a", "Pod/a-1"}) {
		t.Errorf("%+v, %v; left are %v", removals, err, h.Names())
	}
}

func TestNotesAboutLostNodes(t *testing.T) {
	h := startFleet(t)
	for want, lost := range map[string]map[string]string{
		"": nil,
		"1 node was removed as lost, and is refused: x\n":       {"x": ""},
		"2 nodes were removed as lost, and are refused: x; y\n": {"x": "", "y": ""},
	} {
		key := lostnodes.Key()
		h.Set(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}, Data: lost})
		nodes, err := h.client.ListNodes(t.Context(), Selection{})
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		(&Listing{Format: "text"}).PrintNotes(t.Context(), &report.Page{Writer: &out}, h.client, nodes)
		if got := out.String(); !strings.Contains(got, want) || (want == "") == strings.Contains(got, "as lost") {
			t.Errorf("%v: printed is %q", lost, got)
		}
	}
}
