// SPDX-License-Identifier: Apache-2.0

package install

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/apitest"
)

// A namespace that exists for another purpose keeps its labels, and is not deleted.
func TestForeignNamespace(t *testing.T) {
	c := startClusters(t)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "tools", Labels: map[string]string{"a": "b"}}}
	c.management.Set(t, namespace)
	inTools := func(i *Installer) { i.Namespace = "tools" }
	c.install(t, inTools)
	if _, _, err := c.installer(t, inTools).Uninstall(t.Context(), true, false); err != nil {
		t.Fatal(err)
	}
	if !c.management.Get(t, namespace) || len(namespace.Labels) != 1 || len(c.objects()) != 1 {
		t.Errorf("%+v, objects %v", namespace, c.objects())
	}
}

func TestUninstall(t *testing.T) {
	published := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: v1alpha1.Namespace, Name: "user-data-workers",
		Labels: map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedByPublisher},
	}}
	enrolled := &v1alpha1.NodeEnrollment{ObjectMeta: metav1.ObjectMeta{Name: "worker-1"}}
	remediation := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "hcp-node-admin-remediation"}}
	kept := []string{
		"CustomResourceDefinition/nodeenrollments.hcp-node-agent.io",
		"CustomResourceDefinition/noderemediations.hcp-node-agent.io",
		"CustomResourceDefinition/noderollouts.hcp-node-agent.io", "Namespace/hcp-node-admin",
	}
	for name, test := range map[string]struct {
		withCRD, force bool
		objects        []client.Object
		code           report.Code
		remaining      string
		left           []string // of the hosted cluster
	}{
		"without the API": {
			remaining: "[{Namespace hcp-node-admin 0} {CustomResourceDefinition nodeenrollments.hcp-node-agent.io 1} " +
				"{CustomResourceDefinition noderemediations.hcp-node-agent.io 0} " +
				"{CustomResourceDefinition noderollouts.hcp-node-agent.io 0}]",
			objects: []client.Object{published, enrolled, remediation},
			left:    append(slices.Clone(kept), "NodeEnrollment/worker-1"),
		},
		"with the API":              {withCRD: true, objects: []client.Object{published}, remaining: "[]"},
		"with enrollments":          {withCRD: true, objects: []client.Object{enrolled}, code: report.Refused},
		"with enrollments, --force": {withCRD: true, force: true, remaining: "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			c := startClusters(t)
			c.install(t, func(i *Installer) { i.Publish = true })
			c.hosted.Set(t, test.objects...)
			before := c.objects()
			dryRun := c.installer(t, func(i *Installer) { i.DryRun = true })
			planned, _, _ := dryRun.Uninstall(t.Context(), test.withCRD, test.force) // the error is that of the next run
			if diff := c.objects(); !slices.Equal(diff, before) {
				t.Errorf("a dry run has changed the objects to %v", diff)
			}
			changes, remaining, err := c.installer(t, nil).Uninstall(t.Context(), test.withCRD, test.force)
			if test.code != 0 {
				if report.CodeOf(err) != test.code || !slices.Equal(c.objects(), before) ||
					!strings.Contains(err.Error(), "has 1 object of nodeenrollments.hcp-node-agent.io, which --crd deletes too") {
					t.Errorf("%v; left are %v", err, c.objects())
				}
				return
			}
			if err != nil || fmt.Sprint(remaining) != test.remaining || len(changes) != len(before)-len(test.left) ||
				!slices.Equal(changes, planned) {
				t.Errorf("%v; remaining %v; deleted %v, planned %v", err, remaining, changes, planned)
			}
			if !slices.Equal(c.hosted.Names(), test.left) || len(c.management.Names()) > 0 {
				t.Errorf("left are %v", c.objects())
			}
			again, _, err := c.installer(t, nil).Uninstall(t.Context(), test.withCRD, test.force)
			if err != nil || len(again) > 0 {
				t.Errorf("again: %v, %v", again, err)
			}
		})
	}
}

// An interrupted removal can be repeated: the Secret that names the HostedCluster is deleted after all other objects.
func TestUninstallIsRepeatable(t *testing.T) {
	c := startClusters(t)
	c.install(t, func(i *Installer) { i.Publish = true })
	c.hosted.Before = apitest.Reject(http.MethodDelete, "/serviceaccounts/"+controllerName, apitest.Forbidden())
	changes, _, err := c.installer(t, nil).Uninstall(t.Context(), false, false)
	if report.CodeOf(err) != report.CredentialRefused || len(changes) == 0 {
		t.Errorf("%v after %v", err, changes)
	}
	c.hosted.Before = nil
	i := c.installer(t, nil)
	if owner, err := i.owner(t.Context()); err != nil || owner != i.HostedCluster.String() {
		t.Errorf("owner %s, %v", owner, err)
	}
	if _, _, err := c.installer(t, nil).Uninstall(t.Context(), false, false); err != nil || len(c.management.Names()) > 0 {
		t.Errorf("%v; left are %v", err, c.management.Names())
	}
}

// Without --publish, the permissions to publish are deleted in both clusters.
func TestInstallStopsPublishing(t *testing.T) {
	c := startClusters(t)
	c.install(t, nil)
	before := c.objects()
	c.install(t, func(i *Installer) { i.Publish = true })
	deleted := 0
	for _, change := range c.install(t, nil) {
		if change.Result == Deleted {
			deleted++
		}
	}
	if deleted != 9 || !slices.Equal(c.objects(), before) {
		t.Errorf("%d objects were deleted; left are %v", deleted, c.objects())
	}
}
