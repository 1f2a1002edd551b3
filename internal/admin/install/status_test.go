// SPDX-License-Identifier: Apache-2.0

package install

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
)

// run makes the installed controller one that works, with published user data and Events.
func (c *clusters) run(t *testing.T, now time.Time) {
	t.Helper()
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: controllerName}}
	if !c.management.Get(t, deployment) {
		t.Fatal("no Deployment")
	}
	deployment.Status.ReadyReplicas = 2
	c.management.Set(t, deployment)
	renewed, written := metav1.NewMicroTime(now.Add(-2*time.Second)), metav1.NewTime(now.Add(-time.Hour))
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: v1alpha1.Namespace, Name: v1alpha1.UserDataSecret("workers"),
		Labels:        map[string]string{v1alpha1.LabelNodePool: "workers"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "a", Time: &written}},
	}}
	v1alpha1.PublishedState{Config: "new", Release: "4.21.3", Expires: now.Add(time.Hour)}.WriteTo(secret)
	c.hosted.Set(t, secret, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: v1alpha1.Namespace, Name: controllerName, Labels: map[string]string{v1alpha1.LabelVersion: "0.1.0"},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To("replica"), RenewTime: &renewed},
	})
	for _, reason := range []string{"CSRApproved", "NodeReady", "UpgradePermitted"} {
		c.hosted.Set(t, &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: strings.ToLower(reason)},
			InvolvedObject: corev1.ObjectReference{Kind: "NodeEnrollment", Name: "worker-1"}, Reason: reason,
			ReportingController: v1alpha1.EventSource, LastTimestamp: written,
		})
	}
}

func TestStatus(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	for name, test := range map[string]struct {
		change   func(*testing.T, *clusters)
		problems []string // the beginning of each
		remedy   string   // of the first
	}{
		"works": {nil, nil, ""},
		"no Deployment": {
			func(t *testing.T, c *clusters) {
				c.management.Delete(t, newObject("apps/v1", "Deployment", v1alpha1.Namespace, controllerName))
			}, []string{"the controller of HostedCluster clusters/hosted is not installed"}, "controller install hosted --image IMAGE",
		},
		"no Deployment, expired user data": {
			func(t *testing.T, c *clusters) {
				c.management.Delete(t, newObject("apps/v1", "Deployment", v1alpha1.Namespace, controllerName))
				secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
					Namespace: v1alpha1.Namespace, Name: v1alpha1.UserDataSecret("a"),
					Labels: map[string]string{v1alpha1.LabelNodePool: "a"},
				}}
				v1alpha1.PublishedState{Expires: now.Add(-time.Hour)}.WriteTo(secret)
				c.hosted.Set(t, secret)
			}, []string{
				"the controller of HostedCluster clusters/hosted is not installed", "the user data of NodePool a: it has expired",
			}, "controller install hosted --image IMAGE",
		},
		"no replica": {
			func(t *testing.T, c *clusters) { c.install(t, func(i *Installer) { i.Replicas = 3 }) },
			[]string{"2 of 3 replicas of the controller are ready"},
			"-n hcp-node-admin describe pods",
		},
		"no leader": {
			func(t *testing.T, c *clusters) {
				c.hosted.Delete(t, newObject("coordination.k8s.io/v1", "Lease", v1alpha1.Namespace, controllerName))
			}, []string{"no controller runs: its Lease "}, "-n hcp-node-admin logs ",
		},
		"NodePools": {
			func(t *testing.T, c *clusters) {
				for pool, state := range map[string]v1alpha1.PublishedState{
					"a": {Problem: "ValidGeneratedPayload is not True"}, "b": {Expires: now.Add(-time.Hour)},
				} {
					secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
						Namespace: v1alpha1.Namespace, Name: v1alpha1.UserDataSecret(pool),
						Labels: map[string]string{v1alpha1.LabelNodePool: pool},
					}}
					state.WriteTo(secret)
					c.hosted.Set(t, secret)
				}
			}, []string{
				"the user data of NodePool a: ValidGeneratedPayload is not True",
				"the user data of NodePool b: it has expired",
			}, "-n hcp-node-admin logs ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := startClusters(t)
			c.install(t, func(i *Installer) { i.Replicas = 2 })
			c.run(t, now)
			if test.change != nil {
				test.change(t, c)
			}
			s, err := c.installer(t, nil).Status(t.Context(), now)
			if err != nil {
				t.Fatal(err)
			}
			if len(s.Problems) != len(test.problems) {
				t.Fatalf("problems: %+v", s.Problems)
			}
			for n, want := range test.problems {
				if !strings.HasPrefix(s.Problems[n].Message, want) || !strings.Contains(string(s.Problems[0].Remedy), test.remedy) {
					t.Errorf("problem %+v, want %q", s.Problems[n], want)
				}
				if strings.Contains(string(s.Problems[n].Remedy), " .kubeconfig") {
					t.Errorf("the remedy names no cluster: %s", s.Problems[n].Remedy)
				}
			}
			if name != "works" {
				return
			}
			if s.Cluster != cluster.Management || s.Image != "image" || s.Ready != 2 || s.Leader.Holder != "replica" ||
				s.Leader.Version != "0.1.0" || len(s.Published) != 1 || s.Published[0].NodePool != "workers" ||
				!s.Published[0].Since.Equal(now.Add(-time.Hour)) || len(s.Decisions) != 2 || s.Decisions[0].Name != "worker-1" {
				t.Errorf("%+v", s)
			}
		})
	}
}
