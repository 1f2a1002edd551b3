// SPDX-License-Identifier: Apache-2.0

package install

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/lostnodes"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/apitest"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
)

// startWithPolicies starts a hosted cluster. respond returns the response to a request on behalf of a node, after the
// node is in the list of lost nodes.
func startWithPolicies(t *testing.T, respond func() error) (*apitest.Server, *Installer) {
	t.Helper()
	settle, unverified := settleTime, unverifiedTime
	settleTime, unverifiedTime = 0, 0
	t.Cleanup(func() { settleTime, unverifiedTime = settle, unverified })
	server := apitest.Start(t, apitest.Enrollments, apitest.Policies)
	server.Before = func(request *http.Request) error {
		user := request.Header.Get("Impersonate-User")
		if user == "" {
			return nil
		}
		node := strings.TrimPrefix(user, "system:node:")
		if request.URL.Query().Get("dryRun") == "" || !slices.Contains(lostOf(t, server), node) {
			t.Errorf("%s %s on behalf of %s; lost are %v", request.Method, request.URL, user, lostOf(t, server))
		}
		return respond()
	}
	return server, &Installer{Hosted: open(t, cluster.Hosted, server), Timeout: time.Minute}
}

func lostOf(t *testing.T, server *apitest.Server) (names []string) {
	t.Helper()
	key := lostnodes.Key()
	list := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	server.Get(t, list)
	for name := range list.Data {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func refusedByPolicy() error {
	return apierrors.NewForbidden(schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}, "a",
		errorText("ValidatingAdmissionPolicy 'hcp-node-admin-lost-nodes' with binding 'hcp-node-admin-lost-nodes' denied "+
			"request: node a was removed as lost"))
}

type errorText string

func (e errorText) Error() string { return string(e) }

func TestExclude(t *testing.T) {
	requests := 0
	server, installer := startWithPolicies(t, func() error {
		if requests++; requests == 1 {
			return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "leases"}, "a") // not compiled yet
		}
		return refusedByPolicy()
	})
	if err := installer.CheckExclude(t.Context(), []cluster.Right{{Verb: "create"}}); err != nil {
		t.Fatal(err)
	}
	if names := server.Names(); len(names) > 0 {
		t.Errorf("the check has created %v", names)
	}
	for range 2 {
		if err := installer.Exclude(t.Context(), []string{"a", "b"}); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"ConfigMap/lost-nodes", "Namespace/hcp-node-admin", "ValidatingAdmissionPolicy/hcp-node-admin-lost-nodes",
		"ValidatingAdmissionPolicyBinding/hcp-node-admin-lost-nodes",
	}
	if names := server.Names(); !slices.Equal(names, want) || requests != 5 ||
		!slices.Equal(lostOf(t, server), []string{"a", "b"}) {
		t.Errorf("%v, lost %v after %d requests", names, lostOf(t, server), requests)
	}
}

// A credential that must not impersonate nodes waits instead.
func TestExcludeWithoutImpersonation(t *testing.T) {
	requests := 0
	server, installer := startWithPolicies(t, func() error {
		requests++
		return apierrors.NewForbidden(schema.GroupResource{Resource: "users"}, "system:node:a",
			errorText(`User "x" cannot impersonate resource "users" in API group "" at the cluster scope`))
	})
	recorder := &reporttest.Recorder{}
	installer.Log = recorder.Log()
	if err := installer.Exclude(t.Context(), []string{"a", "b"}); err != nil {
		t.Fatal(err)
	}
	const warning = "the credential must not impersonate node a, so that it is not verified that the API server refuses"
	if requests != 1 || !slices.Equal(lostOf(t, server), []string{"a", "b"}) ||
		!strings.Contains(recorder.Text(), warning) {
		t.Errorf("lost %v after %d requests: %s", lostOf(t, server), requests, recorder.Text())
	}
}

// A probe that fails for another reason must not look like a refusal by the policy.
func TestExcludeFails(t *testing.T) {
	_, installer := startWithPolicies(t, apitest.Forbidden)
	err := installer.Exclude(t.Context(), []string{"a"})
	reporttest.CheckFailure(t, err, report.CredentialRefused, "creating Lease kube-node-lease/a on the hosted cluster ")
	_, installer = startWithPolicies(t, func() error { return nil })
	installer.Timeout = 0
	err = installer.Exclude(t.Context(), []string{"a"})
	reporttest.CheckFailure(t, err, report.Failed, "timed out after 0s waiting until ")
}

func TestCheckExcludeRefuses(t *testing.T) {
	for want, installed := range map[string][]string{
		" does not serve validatingadmissionpolicies of admissionregistration.k8s.io/v1: Kubernetes has them from 1.30 on": {
			apitest.Enrollments,
		},
		"the API of NodeEnrollments is not installed": {apitest.Policies},
	} {
		server := apitest.Start(t, installed...)
		installer := &Installer{Hosted: open(t, cluster.Hosted, server)}
		reporttest.CheckFailure(t, installer.CheckExclude(t.Context(), nil), report.Refused, want)
		if names := server.Names(); len(names) > 0 {
			t.Errorf("created are %v", names)
		}
	}
}

// As long as nodes are lost, what excludes them remains, unless --force permits its deletion.
func TestUninstallWithLostNodes(t *testing.T) {
	list := []string{
		"ConfigMap/lost-nodes", "ValidatingAdmissionPolicy/hcp-node-admin-lost-nodes",
		"ValidatingAdmissionPolicyBinding/hcp-node-admin-lost-nodes",
	}
	for name, test := range map[string]struct {
		lost           []string
		withCRD, force bool
		err            string
		left           int // of list
	}{
		"lost":                  {lost: []string{"a"}, left: 3},
		"lost, with the API":    {lost: []string{"a"}, withCRD: true, err: "excludes 1 node, removed as lost", left: 3},
		"lost, --force":         {lost: []string{"a"}, withCRD: true, force: true, left: 1}, // deleted with the namespace
		"none is lost any more": {left: 1},
	} {
		t.Run(name, func(t *testing.T) {
			server, excluding := startWithPolicies(t, refusedByPolicy)
			if err := excluding.Exclude(t.Context(), []string{"a"}); err != nil {
				t.Fatal(err)
			}
			if len(test.lost) == 0 {
				if _, err := lostnodes.Remove(t.Context(), excluding.Hosted, []string{"a"}); err != nil {
					t.Fatal(err)
				}
			}
			c := &clusters{management: apitest.Start(t, apitest.HyperShift), hosted: server}
			c.install(t, nil)
			_, remaining, err := c.installer(t, nil).Uninstall(t.Context(), test.withCRD, test.force)
			if test.err != "" {
				reporttest.CheckFailure(t, err, report.Refused, test.err)
			} else if err != nil {
				t.Error(err)
			}
			var left []string
			for _, object := range server.Names() {
				if slices.Contains(list, object) {
					left = append(left, object)
				}
			}
			isListed := slices.Contains(remaining, Remaining{Kind: "ConfigMap", Name: "lost-nodes", Objects: 1})
			if len(left) != test.left || isListed != (name == "lost") {
				t.Errorf("left are %v, remaining %v", left, remaining)
			}
		})
	}
}
