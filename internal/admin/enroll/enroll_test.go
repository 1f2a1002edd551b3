// SPDX-License-Identifier: Apache-2.0

package enroll

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/apitest"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
)

// hostedCluster is a hosted cluster, with a directory for the files of the hosts.
type hostedCluster struct {
	*apitest.Server

	cluster Cluster
	dir     string
}

func startHostedCluster(t *testing.T) *hostedCluster {
	t.Helper()
	h := &hostedCluster{Server: apitest.Start(t, apitest.Enrollments), dir: t.TempDir()}
	opened, err := cluster.Open(cluster.Hosted, h.Config())
	if err == nil {
		h.cluster, err = newCluster(t.Context(), opened)
	}
	if err != nil {
		t.Fatal(err)
	}
	return h
}

const publishedUserData = `{"ignition":{"config":{"merge":[{"httpHeaders":[` +
	`{"name":"Authorization","value":"Bearer YQ=="}],"source":"https://ignition.example.com/ignition"}]},` +
	`"version":"3.2.0"}}`

// publish stores the user data of the NodePool as the controller does.
func (h *hostedCluster) publish(t *testing.T) {
	t.Helper()
	h.Set(t, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: v1alpha1.UserDataSecret("workers")},
		Data:       map[string][]byte{v1alpha1.UserDataKey: []byte(publishedUserData)},
	})
}

// enroll enrolls nodes, each in the form of ParseNode.
func (h *hostedCluster) enroll(t *testing.T, nodes string, change func(*Options)) (Result, error) {
	t.Helper()
	options := Options{NodePool: "workers", Dir: h.dir}
	for text := range strings.FieldsSeq(nodes) {
		node, err := ParseNode(text)
		if err != nil {
			t.Fatal(err)
		}
		options.Nodes = append(options.Nodes, node)
	}
	if change != nil {
		change(&options)
	}
	return h.cluster.Enroll(t.Context(), options)
}

// mustEnroll enrolls a node, and returns its state and the messages of the findings.
func (h *hostedCluster) mustEnroll(t *testing.T, node string, change func(*Options)) (State, string) {
	t.Helper()
	result, err := h.enroll(t, node, change)
	if err != nil {
		t.Fatal(err)
	}
	var messages []string
	for _, finding := range result.Findings {
		messages = append(messages, finding.Message)
	}
	return result.Enrolled[0].State, strings.Join(messages, "\n")
}

func (h *hostedCluster) tokenPath(node string) string {
	return filepath.Join(h.dir, "tokens", node+".token")
}

// token returns the join token of a node.
func (h *hostedCluster) token(t *testing.T, path string) *enrollment.Token {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	token, err := enrollment.ParseToken(content)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// change changes the NodeEnrollment of worker-1.
func (h *hostedCluster) change(t *testing.T, change func(*v1alpha1.NodeEnrollment)) {
	t.Helper()
	object := &v1alpha1.NodeEnrollment{ObjectMeta: metav1.ObjectMeta{Name: "worker-1"}}
	if !h.Get(t, object) {
		t.Fatal("the NodeEnrollment does not exist")
	}
	change(object)
	h.Set(t, object)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// A repeated run adds what is missing, and changes nothing else.
func TestEnroll(t *testing.T) {
	h := startHostedCluster(t)
	withLabels := func(o *Options) { o.Labels, o.Reinstall = []string{"rack=r1"}, v1alpha1.ReinstallAllow }
	if state, found := h.mustEnroll(t, "worker-1=192.0.2.1", withLabels); state != Created || found != "" {
		t.Errorf("new: %s, %s", state, found)
	}
	object := &v1alpha1.NodeEnrollment{ObjectMeta: metav1.ObjectMeta{Name: "worker-1"}}
	token := h.token(t, h.tokenPath("worker-1"))
	if !h.Get(t, object) || object.Spec.TokenID != token.ID || object.Spec.NodePool != "workers" || token.Cluster != nil ||
		fmt.Sprintln(object.Spec.Addresses, object.Spec.Labels, object.Spec.Reinstall) != "[192.0.2.1] map[rack:r1] Allow\n" {
		t.Errorf("%+v, token %v", object.Spec, token)
	}
	if state, found := h.mustEnroll(t, "worker-1=192.0.2.1", withLabels); state != Existing || found != "" {
		t.Errorf("again: %s, %s", state, found)
	}
	h.publish(t)
	if state, found := h.mustEnroll(t, "worker-1=192.0.2.1", withLabels); state != Completed || found != "" {
		t.Errorf("with published user data: %s, %s", state, found)
	}
	completed := h.token(t, h.tokenPath("worker-1"))
	if completed.ID != token.ID || completed.Cluster == nil || completed.Cluster.Secret != "user-data-workers" {
		t.Errorf("token %v", completed)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Namespace: v1alpha1.Namespace, Name: v1alpha1.ServiceAccount("worker-1"),
	}}
	if !h.Get(t, account) || len(account.OwnerReferences) != 1 || account.OwnerReferences[0].UID != object.UID {
		t.Errorf("ServiceAccount %+v", account)
	}
	if state, found := h.mustEnroll(t, "worker-1=192.0.2.1", withLabels); state != Existing || found != "" {
		t.Errorf("again: %s, %s", state, found)
	}
}

// A run that fails in the middle loses no key, and a repeated run completes it.
func TestEnrollResumes(t *testing.T) {
	for name, test := range map[string]struct {
		method, path string
		want         string
		hasFile      bool
		hasObject    bool
	}{
		"reading":        {http.MethodGet, "/nodeenrollments", "listing NodeEnrollments on ", false, false},
		"NodeEnrollment": {http.MethodPost, "/nodeenrollments", "creating NodeEnrollment worker-1 on ", true, false},
		"ServiceAccount": {http.MethodPost, "/serviceaccounts", "creating ServiceAccount hcp-node-admin/node-", true, true},
		"token":          {http.MethodPost, "/token", "creating the token of ServiceAccount ", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := startHostedCluster(t)
			h.publish(t)
			h.Before = apitest.Reject(test.method, test.path, apitest.Forbidden())
			result, err := h.enroll(t, "worker-1", nil)
			reporttest.CheckFailure(t, err, report.CredentialRefused, test.want)
			pending := h.tokenPath("worker-1") + pendingSuffix
			hasObject := h.Get(t, &v1alpha1.NodeEnrollment{ObjectMeta: metav1.ObjectMeta{Name: "worker-1"}})
			if exists(pending) != test.hasFile || hasObject != test.hasObject || exists(h.tokenPath("worker-1")) ||
				test.hasFile && (result.Enrolled[0].State != Incomplete || result.Enrolled[0].TokenFile != pending) {
				t.Errorf("%+v; file %t, NodeEnrollment %t", result, exists(pending), hasObject)
			}
			var before string
			if test.hasFile {
				before = h.token(t, pending).ID
			}
			h.Before = nil
			state, _ := h.mustEnroll(t, "worker-1", nil)
			token := h.token(t, h.tokenPath("worker-1"))
			if (state == Completed) != test.hasFile || before != "" && token.ID != before || token.Cluster == nil ||
				exists(pending) {
				t.Errorf("again: %s, token %v", state, token)
			}
		})
	}
}
