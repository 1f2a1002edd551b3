// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package request

import (
	"os"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

func TestMain(m *testing.M) { os.Exit(kubetest.Run(m)) }

// A host reads the user data of its NodePool with the ServiceAccount of its enrollment, and nothing else.
func TestControlPlaneUserDataOfTheCluster(t *testing.T) {
	admin, ctx := kubetest.AdminClient(t), t.Context()
	const namespace, secret, account = "hcp-node-admin", "user-data-workers", "node-worker-7"
	create := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	object := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }
	create(admin.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: object(namespace)},
		metav1.CreateOptions{}))
	accounts := admin.CoreV1().ServiceAccounts(namespace)
	create(accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: object(account)}, metav1.CreateOptions{}))
	seconds := int64(3600)
	requested, err := accounts.CreateToken(ctx, account, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds},
	}, metav1.CreateOptions{})
	create(requested, err)

	read := func(secret string) (Request, error) {
		ca := kubetest.ReadFile(t, kubetest.Plane.ClusterCA)
		token, _, err := enrollment.New(enrollment.Options{NodeName: "worker-7", ClusterCA: ca, Cluster: &enrollment.Cluster{
			Server: "https://" + kubetest.Plane.APIForward, CA: string(ca), BearerToken: requested.Status.Token, Secret: secret,
		}}, time.Now())
		create(token, err)
		content, err := token.Encode()
		create(content, err)
		recorded := &reporttest.Recorder{}
		return Read(recorded.DeadlineAt(t, awaitingPermission), Options{
			Config: config.Join{JoinToken: flowtest.WriteTempFile(t, content)}, StateDir: t.TempDir(), Sink: recorded,
		}, joinstate.State{}, UserDataRequired)
	}
	check := func(secret, want string, code report.Code) {
		t.Helper()
		if _, err := read(secret); report.CodeOf(err) != code || !strings.Contains(err.Error(), want) {
			t.Errorf("code %d, %v, want %q", report.CodeOf(err), err, want)
		}
	}

	check(secret, "no permission (HTTP 403)", report.CredentialRefused)
	roles := admin.RbacV1().Roles(namespace)
	create(roles.Create(ctx, &rbacv1.Role{ObjectMeta: object(secret), Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{secret}, Verbs: []string{"get"},
	}}}, metav1.CreateOptions{}))
	create(admin.RbacV1().RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: object(secret),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: secret},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account}},
	}, metav1.CreateOptions{}))
	waittest.Until(t, "waiting for the permission", func() (any, bool) {
		_, err := read(secret)
		return err, err != nil && !strings.Contains(err.Error(), "403")
	})
	check(secret, "it does not exist", report.Failed)

	published := &corev1.Secret{ObjectMeta: object(secret), Data: map[string][]byte{"value": []byte("{}")}}
	create(admin.CoreV1().Secrets(namespace).Create(ctx, published, metav1.CreateOptions{}))
	check(secret, "it has no key user-data.ign", report.Failed)
	published.Data["user-data.ign"] = flowtest.EncodeUserData(t, "a.example.com", "clusters/workers", "11")
	create(admin.CoreV1().Secrets(namespace).Update(ctx, published, metav1.UpdateOptions{}))
	if in, err := read(secret); err != nil || in.UserData == nil || in.UserData.NodePool() != "clusters/workers" {
		t.Errorf("user data %v, %v", in.UserData, err)
	}
	check("user-data-others", "no permission (HTTP 403)", report.CredentialRefused)

	if err := accounts.Delete(ctx, account, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "waiting for the rejection of the revoked credential", func() (any, bool) {
		_, err := read(secret)
		return err, err != nil && strings.Contains(err.Error(), "(HTTP 401)")
	})
}
