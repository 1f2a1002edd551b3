// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/bed"
	"github.com/hcp-node-agent/hcp-node-agent/test/clitest"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
	"github.com/hcp-node-agent/hcp-node-agent/test/rights"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// hostedCluster is a real API server.
type hostedCluster struct {
	admin kubernetes.Interface
}

// installAPI installs the API of NodeEnrollments.
func (h *hostedCluster) installAPI(t *testing.T) {
	t.Helper()
	if err := rights.Grant(t.Context(), h.admin, "hosted-base/crd.yaml"); err != nil {
		t.Fatal(err)
	}
}

// startHostedCluster starts an API server without the API of NodeEnrollments.
func startHostedCluster(t *testing.T) *hostedCluster {
	t.Helper()
	kubetest.Plane = kubetest.StartPlane(t, "")
	withoutKubeconfig(t)
	return &hostedCluster{admin: kubetest.AdminClient(t)}
}

// kubeconfig writes a kubeconfig and returns its path. change modifies it.
func (*hostedCluster) kubeconfig(t *testing.T, change func(*api.Cluster, *api.AuthInfo)) string {
	t.Helper()
	file, err := clientcmd.LoadFromFile(kubetest.Plane.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	current := file.Contexts[file.CurrentContext]
	change(file.Clusters[current.Cluster], file.AuthInfos[current.AuthInfo])
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// as returns the path of a kubeconfig of a user.
func (h *hostedCluster) as(t *testing.T, user string) string {
	t.Helper()
	return h.kubeconfig(t, func(_ *api.Cluster, credential *api.AuthInfo) { credential.Impersonate = user })
}

// unreachable returns the path of a kubeconfig of a server that does not listen.
func (h *hostedCluster) unreachable(t *testing.T) string {
	t.Helper()
	return h.kubeconfig(t, func(cluster *api.Cluster, _ *api.AuthInfo) { cluster.Server = "https://127.0.0.1:1" })
}

// grant grants a user the permissions of a command.
func (h *hostedCluster) grant(t *testing.T, user string, permissions []permission) {
	t.Helper()
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}
	for _, p := range permissions {
		name, group, _ := strings.Cut(p.resource, ".")
		rule := rbacv1.PolicyRule{Verbs: strings.Split(p.verbs, ","), APIGroups: []string{group}, Resources: []string{name}}
		meta := metav1.ObjectMeta{GenerateName: user + "-"}
		rbac := h.admin.RbacV1()
		var err error
		if p.namespace != "" {
			var role *rbacv1.Role
			role, err = rbac.Roles(p.namespace).Create(t.Context(),
				&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{rule}}, metav1.CreateOptions{})
			if err == nil {
				_, err = rbac.RoleBindings(p.namespace).Create(t.Context(), &rbacv1.RoleBinding{
					ObjectMeta: meta, Subjects: subjects,
					RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
				}, metav1.CreateOptions{})
			}
		} else {
			var role *rbacv1.ClusterRole
			role, err = rbac.ClusterRoles().Create(t.Context(),
				&rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{rule}}, metav1.CreateOptions{})
			if err == nil {
				_, err = rbac.ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
					ObjectMeta: meta, Subjects: subjects,
					RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
				}, metav1.CreateOptions{})
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// exec runs a command as an administrator. Commands in its output are without the kubeconfig, which they have.
func (*hostedCluster) exec(t *testing.T, args ...string) clitest.Result {
	t.Helper()
	flag := " --kubeconfig " + kubetest.Plane.Kubeconfig
	got := runCommandLine(t, append(args, "--kubeconfig", kubetest.Plane.Kubeconfig)...)
	got.Out, got.Err = strings.ReplaceAll(got.Out, flag, ""), strings.ReplaceAll(got.Err, flag, "")
	return got
}

// await runs a command as a user until it succeeds. The authorizer of the API server needs a moment for new rights.
func (h *hostedCluster) await(t *testing.T, user string, args ...string) clitest.Result {
	t.Helper()
	return h.awaitOutput(t, user, "", args...)
}

// awaitOutput runs a command as a user until it succeeds and its standard error begins with a text.
func (h *hostedCluster) awaitOutput(t *testing.T, user, text string, args ...string) clitest.Result {
	t.Helper()
	kubeconfig := h.as(t, user)
	var got clitest.Result
	waittest.Until(t, fmt.Sprintf("waiting until %q succeeds for %s", args, user), func() (any, bool) {
		got = runCommandLine(t, append(args, "--kubeconfig", kubeconfig)...)
		return got, got.Code == report.Success && strings.HasPrefix(got.Err, text)
	})
	return got
}

// enroll creates a join token and its NodeEnrollment. change modifies the object; it can be nil.
func (h *hostedCluster) enroll(t *testing.T, node string, change func(*v1alpha1.NodeEnrollment)) *enrollment.Token {
	t.Helper()
	token, record, err := enrollment.New(enrollment.Options{
		NodeName: node, ClusterCA: csrtest.ClusterCA(t), Lifetime: 24 * time.Hour,
	}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	object, err := record.Object()
	if err != nil {
		t.Fatal(err)
	}
	object.Spec.NodePool = "workers"
	if change != nil {
		change(object)
	}
	h.post(t, object)
	return token
}

const enrollmentsPath = "/apis/hcp-node-agent.io/v1alpha1/nodeenrollments"

func (h *hostedCluster) post(t *testing.T, object *v1alpha1.NodeEnrollment) {
	t.Helper()
	status := object.Status
	body, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	request := h.admin.Discovery().RESTClient().Post().AbsPath(enrollmentsPath)
	if err := request.Body(body).SetHeader("Content-Type", "application/json").Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
	h.patchStatus(t, object.Name, status)
}

// patchStatus writes the status of a NodeEnrollment as the controller does.
func (h *hostedCluster) patchStatus(t *testing.T, node string, status v1alpha1.NodeEnrollmentStatus) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		t.Fatal(err)
	}
	err = h.admin.Discovery().RESTClient().Patch("application/merge-patch+json").
		AbsPath(enrollmentsPath, node, "status").Body(body).Do(t.Context()).Error()
	if err != nil {
		t.Fatal(err)
	}
}

// use records that the join token of an enrollment was used with a key, as the controller does.
func (h *hostedCluster) use(t *testing.T, node, key string) {
	t.Helper()
	kubectl(t, "patch", "nodeenrollment", node, "--type=merge", "-p",
		fmt.Sprintf(`{"spec": {"usedBy": {"key": %q, "at": %q}}}`, key, time.Now().UTC().Format(time.RFC3339)))
}

// kubectl runs the real kubectl as an administrator and returns its output.
func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	output, err := bed.Kubectl(t.Context(), kubetest.Plane.Kubeconfig, "", args...)
	if err != nil {
		t.Fatal(err)
	}
	return output
}

// recorder collects the output of a command that runs.
type recorder struct {
	mutex sync.Mutex
	out   strings.Builder
}

func newRecorder() *recorder { return &recorder{} }

func (r *recorder) Write(text []byte) (int, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.out.Write(text)
}

func (r *recorder) text() string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.out.String()
}

// background is a command that runs.
type background struct {
	*recorder

	stop context.CancelFunc
	done chan report.Code
}

// startCommand starts a command, which ends at the end of the test at the latest.
func startCommand(t *testing.T, args ...string) *background {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	b := &background{recorder: newRecorder(), stop: cancel, done: make(chan report.Code, 1)}
	t.Cleanup(cancel)
	go func() { b.done <- run(ctx, args, cli.Streams{Out: b, Err: b}) }()
	return b
}

// await waits until the output contains a text.
func (r *recorder) await(t *testing.T, text string) {
	t.Helper()
	waittest.UntilText(t, text, r.text)
}
