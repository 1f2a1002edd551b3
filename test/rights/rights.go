// SPDX-License-Identifier: Apache-2.0

// Package rights grants tests the approver's rights from the manifests in deploy, and creates a
// credential with exactly those rights.
package rights

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"
)

// Documents returns the YAML documents of a file in deploy. The working directory
// must be inside the repository.
func Documents(name string) ([]string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("finding deploy/%s: %w", name, err)
	}
	for {
		content, err := os.ReadFile(filepath.Join(dir, "deploy", name))
		if err == nil {
			return strings.Split(string(content), "\n---\n"), nil
		}
		if parent := filepath.Dir(dir); !errors.Is(err, os.ErrNotExist) || parent == dir {
			return nil, fmt.Errorf("finding deploy/%s: %w", name, err)
		}
		dir = filepath.Dir(dir)
	}
}

// Grant creates the objects of deploy/approver-rbac.yaml unchanged.
func Grant(ctx context.Context, client kubernetes.Interface) error {
	documents, err := Documents("approver-rbac.yaml")
	if err != nil {
		return err
	}
	for _, document := range documents {
		if err := create(ctx, client, []byte(document)); err != nil {
			return fmt.Errorf("creating what approver-rbac.yaml has: %w", err)
		}
	}
	return nil
}

func create(ctx context.Context, client kubernetes.Interface, document []byte) error {
	var head metav1.TypeMeta
	if err := yaml.Unmarshal(document, &head); err != nil {
		return err
	}
	var err error
	switch head.Kind {
	case "ServiceAccount":
		object, bad := parse[corev1.ServiceAccount](document)
		_, err = client.CoreV1().ServiceAccounts(object.Namespace).Create(ctx, object, metav1.CreateOptions{})
		err = errors.Join(bad, err)
	case "ConfigMap":
		object, bad := parse[corev1.ConfigMap](document)
		_, err = client.CoreV1().ConfigMaps(object.Namespace).Create(ctx, object, metav1.CreateOptions{})
		err = errors.Join(bad, err)
	case "ClusterRole":
		object, bad := parse[rbacv1.ClusterRole](document)
		_, err = client.RbacV1().ClusterRoles().Create(ctx, object, metav1.CreateOptions{})
		err = errors.Join(bad, err)
	case "ClusterRoleBinding":
		object, bad := parse[rbacv1.ClusterRoleBinding](document)
		_, err = client.RbacV1().ClusterRoleBindings().Create(ctx, object, metav1.CreateOptions{})
		err = errors.Join(bad, err)
	case "Role":
		object, bad := parse[rbacv1.Role](document)
		_, err = client.RbacV1().Roles(object.Namespace).Create(ctx, object, metav1.CreateOptions{})
		err = errors.Join(bad, err)
	case "RoleBinding":
		object, bad := parse[rbacv1.RoleBinding](document)
		_, err = client.RbacV1().RoleBindings(object.Namespace).Create(ctx, object, metav1.CreateOptions{})
		err = errors.Join(bad, err)
	default:
		return fmt.Errorf("%q is a kind that is not known here", head.Kind)
	}
	return err
}

func parse[T any](document []byte) (*T, error) {
	object := new(T)
	return object, yaml.UnmarshalStrict(document, object)
}

// NewKubeconfig returns a kubeconfig of the approver's service account, with a token that is valid
// for an hour. The CA is from the administrator's kubeconfig; server is the API server's URL.
func NewKubeconfig(ctx context.Context, client kubernetes.Interface, administrators, server string) ([]byte, error) {
	hour := int64(3600)
	token, err := client.CoreV1().ServiceAccounts("kube-system").CreateToken(ctx, "hcp-node-admin-approver",
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &hour}},
		metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("getting a token for the approver: %w", err)
	}
	file, err := clientcmd.LoadFromFile(administrators)
	if err != nil {
		return nil, fmt.Errorf("reading the administrator's kubeconfig: %w", err)
	}
	cluster := file.Clusters[file.Contexts[file.CurrentContext].Cluster]
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{
		Server:                   server,
		CertificateAuthorityData: cluster.CertificateAuthorityData,
	}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "x"
	return clientcmd.Write(*config)
}
