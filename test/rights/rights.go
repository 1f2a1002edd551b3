// SPDX-License-Identifier: Apache-2.0

// Package rights grants tests the rights of the manifests in deploy, and creates credentials with exactly those rights.
package rights

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// Controller is the account of the controller, of hosted-base/rbac.yaml.
const Controller = "hcp-node-admin-controller"

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

// Grant creates the objects of a file in deploy unchanged. It returns when the API server serves the kinds of the file.
func Grant(ctx context.Context, client kubernetes.Interface, file string) error {
	documents, err := Documents(file)
	if err != nil {
		return err
	}
	for _, document := range documents {
		if err := create(ctx, client.Discovery().RESTClient(), []byte(document)); err != nil {
			return fmt.Errorf("creating the objects of %s: %w", file, err)
		}
	}
	return nil
}

func create(ctx context.Context, client rest.Interface, document []byte) error {
	body, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return err
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(body); err != nil {
		return err
	}
	path := resourcePath(object)
	err = client.Post().AbsPath(path...).Param("fieldValidation", metav1.FieldValidationStrict).
		SetHeader("Content-Type", "application/json").Body(body).Do(ctx).Error()
	if err != nil || object.GetKind() != "CustomResourceDefinition" {
		return err
	}
	return awaitEstablished(ctx, client, append(path, object.GetName()))
}

// resourcePath returns the path of an object's collection.
func resourcePath(object *unstructured.Unstructured) []string {
	kind := object.GroupVersionKind()
	path := []string{"/apis", kind.Group, kind.Version}
	if kind.Group == "" {
		path = []string{"/api", kind.Version}
	}
	if namespace := object.GetNamespace(); namespace != "" {
		path = append(path, "namespaces", namespace)
	}
	plural, _ := meta.UnsafeGuessKindToResource(kind)
	return append(path, plural.Resource)
}

// awaitEstablished waits until the API server serves the kind of a CustomResourceDefinition.
func awaitEstablished(ctx context.Context, client rest.Interface, path []string) error {
	isEstablished := func(ctx context.Context) (bool, error) {
		body, err := client.Get().AbsPath(path...).DoRaw(ctx)
		if err != nil {
			return false, err
		}
		var definition struct {
			Status struct{ Conditions []metav1.Condition }
		}
		err = json.Unmarshal(body, &definition)
		return meta.IsStatusConditionTrue(definition.Status.Conditions, "Established"), err
	}
	if err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, waittest.Timeout, true, isEstablished); err != nil {
		return fmt.Errorf("waiting until the kind is established: %w", err)
	}
	return nil
}

// NewKubeconfig returns a kubeconfig of an account in the controller's namespace, with a token that is valid for an
// hour. The CA is from the administrator's kubeconfig; server is the API server's URL.
func NewKubeconfig(
	ctx context.Context, client kubernetes.Interface, account, administrators, server string,
) ([]byte, error) {
	hour := int64(3600)
	token, err := client.CoreV1().ServiceAccounts(v1alpha1.Namespace).CreateToken(ctx, account,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &hour}},
		metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("getting a token for %s: %w", account, err)
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
