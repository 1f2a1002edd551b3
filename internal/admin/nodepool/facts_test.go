// SPDX-License-Identifier: Apache-2.0

package nodepool

import (
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

const (
	currentToken = "7e5b7b9e-8e0e-4d5b-9f4b-0d3c5a1e2f30" //nolint:gosec // of the test
	oldToken     = "0c0f3f6a-1d2b-4c3a-8b7a-9e8d7c6b5a41" //nolint:gosec // of the test
	otherToken   = "99999999-1d2b-4c3a-8b7a-9e8d7c6b5a41"
)

var now = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

// newFacts returns the facts of a NodePool that hosts can join. The YAML of both objects is that of HyperShift.
func newFacts(t *testing.T) *Facts {
	t.Helper()
	f := &Facts{HostedCluster: &HostedCluster{}}
	decode := func(text string, into any) {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	decode(`{"metadata": {"name": "workers", "namespace": "clusters",
			"annotations": {"hypershift.openshift.io/nodePoolCurrentConfigVersion": "844282c1"}},
		"spec": {"clusterName": "hosted.a", "platform": {"type": "None"}, "replicas": 0,
			"release": {"image": "example.com/ocp:1"}},
		"status": {"version": "4.20.3", "conditions": [
			{"type": "ValidReleaseImage", "status": "True", "reason": "AsExpected"},
			{"type": "ValidMachineConfig", "status": "True", "reason": "AsExpected"},
			{"type": "ValidGeneratedPayload", "status": "True", "reason": "AsExpected"},
			{"type": "ReconciliationActive", "status": "True", "reason": "ReconciliationActive"},
			{"type": "ReachedIgnitionEndpoint", "status": "True", "reason": "AsExpected"}]}}`, &f.NodePool)
	decode(`{"metadata": {"name": "hosted.a", "namespace": "clusters"},
		"spec": {"services": [
			{"service": "APIServer", "servicePublishingStrategy": {"type": "LoadBalancer"}},
			{"service": "Ignition", "servicePublishingStrategy": {"type": "Route"}}]},
		"status": {"kubeconfig": {"name": "hosted.a-admin-kubeconfig"}, "ignitionEndpoint": "ignition.example.com",
			"conditions": [
				{"type": "Available", "status": "True"}, {"type": "IgnitionEndpointAvailable", "status": "True"}],
			"version": {"desired": {"version": "4.21.0"}, "history": [
				{"state": "Completed", "version": "4.20.3"}]}}}`, f.HostedCluster)
	f.setUserData(t, currentToken)
	f.Token = &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
			tokenTimeAnnotation: now.Add(-time.Hour).Format(time.RFC3339Nano),
		}},
		Data: map[string][]byte{"token": []byte(currentToken), "old_token": []byte(oldToken)},
	}
	return f
}

func (f *Facts) setUserData(t *testing.T, token string) {
	t.Helper()
	userData, err := ignition.NewUserData(ignition.Values{
		Endpoint: "ignition.example.com", Token: []byte(token), CA: certtest.NewCA(t, "ignition-root-ca").PEM,
		NodePool: "clusters/workers", Hash: "844282c1",
	})
	if err != nil {
		t.Fatal(err)
	}
	if f.UserData, err = userData.Encode(); err != nil {
		t.Fatal(err)
	}
}

// set sets the status of a condition of the NodePool.
func (f *Facts) set(name, status, reason, message string) {
	setCondition(&f.NodePool.Status.Conditions, name, status, reason, message)
}

func setCondition(conditions *[]metav1.Condition, name, status, reason, message string) {
	changed := metav1.Condition{
		Type: name, Status: metav1.ConditionStatus(status), Reason: reason, Message: message,
	}
	for i := range *conditions {
		if (*conditions)[i].Type == name {
			(*conditions)[i] = changed
			return
		}
	}
	*conditions = append(*conditions, changed)
}

func TestExpires(t *testing.T) {
	for _, test := range []struct{ token, generated, want string }{
		{currentToken, "2026-09-01T11:00:00.123456789Z", "2026-09-01T22:00:00Z"},
		{oldToken, "2026-09-01T11:00:00Z", "2026-09-01T16:30:00Z"},
		{currentToken, "", "0001-01-01T00:00:00Z"}, // the ignition server rotates it soon
	} {
		f := newFacts(t)
		f.setUserData(t, test.token)
		f.Token.Annotations[tokenTimeAnnotation] = test.generated
		f.Evaluate(now)
		if got := report.Timestamp(f.Expires()); got != test.want {
			t.Errorf("%s, generated %q: expires at %s, want %s", test.token, test.generated, got, test.want)
		}
	}
}
