// SPDX-License-Identifier: Apache-2.0

package install

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/apitest"
)

// clusters are the servers of a management cluster and of a hosted cluster.
type clusters struct {
	management, hosted *apitest.Server
}

func startClusters(t *testing.T) *clusters {
	t.Helper()
	return &clusters{
		management: apitest.Start(t, apitest.HyperShift), hosted: apitest.Start(t, apitest.Enrollments),
	}
}

func open(t *testing.T, place cluster.Place, server *apitest.Server) *cluster.Cluster {
	t.Helper()
	opened, err := cluster.Open(place, server.Config())
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

// installer returns the installer of HostedCluster clusters/hosted.
func (c *clusters) installer(t *testing.T, change func(*Installer)) *Installer {
	t.Helper()
	i := &Installer{
		Settings: Settings{
			In: cluster.Management, HostedCluster: types.NamespacedName{Namespace: "clusters", Name: "hosted"}, Image: "image",
		},
		Management: open(t, cluster.Management, c.management), Hosted: open(t, cluster.Hosted, c.hosted),
		HostedKubeconfig: c.hosted.Kubeconfig(t), Timeout: time.Hour,
	}
	if change != nil {
		change(i)
	}
	return i
}

// install installs the controller.
func (c *clusters) install(t *testing.T, change func(*Installer)) []Change {
	t.Helper()
	changes, err := c.installer(t, change).Install(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return changes
}

// checkResults checks the number of changes, and that all have a result.
func checkResults(t *testing.T, changes []Change, want Result, count int) {
	t.Helper()
	if len(changes) != count {
		t.Errorf("%d objects, want %d", len(changes), count)
	}
	for _, change := range changes {
		if change.Result != want {
			t.Errorf("%s: %s, want %s", change, change.Result, want)
		}
	}
}

func (c *clusters) objects() []string { return append(c.management.Names(), c.hosted.Names()...) }

func TestInstall(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(*Installer)
		objects int
	}{
		"on the management cluster": {nil, 18},
		"publishing":                {func(i *Installer) { i.Publish = true }, 27},
		"in the hosted cluster":     {func(i *Installer) { i.In = cluster.Hosted }, 15},
	} {
		t.Run(name, func(t *testing.T) {
			c := startClusters(t)
			dryRun := func(i *Installer) {
				if i.DryRun = true; test.change != nil {
					test.change(i)
				}
			}
			checkResults(t, c.install(t, dryRun), Created, test.objects)
			if left := c.objects(); len(left) > 0 {
				t.Errorf("a dry run has created %v", left)
			}
			checkResults(t, c.install(t, test.change), Created, test.objects)
			checkResults(t, c.install(t, test.change), Unchanged, test.objects)
			if len(c.objects()) != test.objects {
				t.Errorf("%d objects: %v", len(c.objects()), c.objects())
			}
		})
	}
}

// A change of a setting changes only the object that contains it, also in a dry run.
func TestInstallChangesOnlyWhatDiffers(t *testing.T) {
	c := startClusters(t)
	c.install(t, nil)
	for _, isDryRun := range []bool{true, false} {
		for _, change := range c.install(t, func(i *Installer) { i.DryRun, i.Replicas = isDryRun, 3 }) {
			if (change.Kind == "Deployment") != (change.Result == Configured) {
				t.Errorf("dry run %t: %s: %s", isDryRun, change, change.Result)
			}
		}
	}
}

// The settings of the installed controller are those with which a repeated installation begins.
func TestInstalled(t *testing.T) {
	for name, change := range map[string]func(*Installer){
		"on the management cluster": func(i *Installer) { i.Replicas = 3 },
		"publishing":                func(i *Installer) { i.Publish, i.Replicas = true, 1 },
		"in another namespace":      func(i *Installer) { i.Namespace, i.Replicas = "other", 2 },
		"in the hosted cluster":     func(i *Installer) { i.In, i.Replicas = cluster.Hosted, 2 },
	} {
		t.Run(name, func(t *testing.T) {
			c := startClusters(t)
			i := c.installer(t, change)
			if none, err := i.installed(t.Context()); err != nil || none != (Settings{}) {
				t.Errorf("before: %+v, %v", none, err)
			}
			c.install(t, change)
			want := Settings{In: i.In, Image: "image", Replicas: i.Replicas, Publish: i.Publish}
			if got, err := i.installed(t.Context()); err != nil || got != want {
				t.Errorf("got %+v, %v, want %+v", got, err, want)
			}
		})
	}
}

// The pods of the controller get a kubeconfig with the token of its service account, and start again when it changes.
func TestInstallWritesKubeconfig(t *testing.T) {
	c := startClusters(t)
	c.install(t, nil)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: controllerName}}
	if !c.management.Get(t, secret) || !strings.Contains(string(secret.Data["kubeconfig"]), "token: token\n") ||
		strings.Contains(string(secret.Data["kubeconfig"]), "administrator") ||
		secret.Annotations[hostedClusterAnnotation] != "clusters/hosted" {
		t.Errorf("the Secret is %+v", secret)
	}
	other := apitest.Start(t).Kubeconfig(t)
	for _, change := range c.install(t, func(i *Installer) { i.HostedKubeconfig = other }) {
		isChanged := change.Cluster == cluster.Management && slices.Contains([]string{"Secret", "Deployment"}, change.Kind)
		if isChanged != (change.Result == Configured) {
			t.Errorf("%s: %s", change, change.Result)
		}
	}
}

func TestInstallRefuses(t *testing.T) {
	definition := func(version string) client.Object {
		object := newObject("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "nodeenrollments.hcp-node-agent.io")
		object.Object["spec"] = map[string]any{"versions": []any{map[string]any{"name": version, "served": false}}}
		return object
	}
	terminating := apierrors.NewForbidden(schema.GroupResource{}, "", nil)
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for name, test := range map[string]struct {
		prepare func(*testing.T, *clusters)
		change  func(*Installer)
		code    report.Code
		want    string
		remedy  string
	}{
		"a management cluster as hosted cluster": {
			nil, func(i *Installer) { i.Hosted = i.Management }, report.Refused,
			" is a management cluster, not the cluster of HostedCluster clusters/hosted", "--hosted-kubeconfig",
		},
		"another version of the API": {
			func(t *testing.T, c *clusters) { c.hosted.Set(t, definition("v1")) }, nil, report.Refused,
			`CustomResourceDefinition nodeenrollments.hcp-node-agent.io with versions "v1 (not served)"; this hcp-node-admin ` +
				`supports "v1alpha1"`, "hcp-node-admin of the release",
		},
		"another HostedCluster": {
			func(t *testing.T, c *clusters) {
				c.install(t, func(i *Installer) { i.HostedCluster.Name = "other" })
			}, nil, report.Refused,
			"namespace hcp-node-admin of the management cluster contains the controller of HostedCluster clusters/other",
			"--controller-namespace",
		},
		"rejected credential": {
			func(_ *testing.T, c *clusters) {
				c.hosted.Before = apitest.Reject(http.MethodGet, "", apierrors.NewUnauthorized(""))
			}, nil, report.CredentialRefused, "on the hosted cluster https://127.0.0.1:",
			"# log in to the hosted cluster again",
		},
		"no permission": {
			func(_ *testing.T, c *clusters) {
				c.hosted.Before = apitest.Reject(http.MethodPatch, "", apitest.Forbidden())
			}, nil, report.CredentialRefused, "applying Namespace hcp-node-admin on the hosted cluster https://127.0.0.1:",
			"administrator of the hosted cluster",
		},
		"a namespace that is being deleted": {
			func(_ *testing.T, c *clusters) {
				c.management.Before = apitest.Reject(http.MethodPatch, "/secrets/"+controllerName, terminating)
			}, nil, report.Failed, "applying Secret hcp-node-admin/hcp-node-admin-controller on the management cluster",
			"when the namespace is deleted",
		},
		"unreachable": {
			func(_ *testing.T, c *clusters) { c.management.Stop() }, nil, report.Failed, "refused the connection", "",
		},
		"a kubeconfig without a CA": {
			nil, func(i *Installer) {
				i.HostedKubeconfig = []byte(strings.Replace(string(i.HostedKubeconfig), "certificate-authority-data", "x", 1))
			}, report.Usage, "contains no CA of the cluster", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := startClusters(t)
			if test.prepare != nil {
				test.prepare(t, c)
			}
			_, err := c.installer(t, test.change).Install(t.Context())
			if report.CodeOf(err) != test.code || !strings.Contains(fmt.Sprint(err), test.want) ||
				!strings.Contains(string(report.RemedyOf(err)), test.remedy) {
				t.Errorf("code %d: %v; remedy %q", report.CodeOf(err), err, report.RemedyOf(err))
			}
		})
	}
}
