// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package docblocks

import (
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/hypershift"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
)

// createObjects creates the objects of testdata/cluster.yaml, HyperShift's kinds with the objects that the pages
// document in hosted.yaml, and other kinds of OpenShift without their fields.
func createObjects(t *testing.T, blocks []Block) {
	t.Helper()
	management := hypershift.Cluster{Kubeconfig: kubetest.Plane.Kubeconfig}
	must(t, management.Define(t.Context()))
	var types string
	for _, kind := range []string{
		"monitoring.coreos.com/v1/PodMonitor", "monitoring.coreos.com/v1/PrometheusRule",
		"operator.openshift.io/v1/IngressController", "route.openshift.io/v1/Route",
		"security.openshift.io/v1/SecurityContextConstraints",
	} {
		parts := strings.Split(kind, "/")
		singular, scope := strings.ToLower(parts[2]), "Namespaced"
		plural := strings.TrimSuffix(singular, "s") + "s"
		if plural == singular {
			scope = "Cluster"
		}
		types += fmt.Sprintf(`---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[4]s.%[1]s}
spec:
  group: %[1]s
  names: {kind: %[3]s, plural: %[4]s, singular: %[5]s}
  scope: %[6]s
  versions:
  - name: %[2]s
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`, parts[0], parts[1], parts[2], plural, singular, scope)
	}
	kubectl(t, types, "apply", "-f", "-")
	kubectl(t, "", "wait", "--for=condition=Established", "crd", "--all")
	kubectl(t, "", "apply", "-f", "testdata/cluster.yaml")
	for _, block := range blocks {
		if block.File == "hosted.yaml" {
			kubectl(t, block.Text, "apply", "-f", "-")
		}
	}
	// as HyperShift does: a page that applies the objects does not remove these fields
	kubectl(t, "", "-n", "clusters", "annotate", "nodepool", "workers",
		"hypershift.openshift.io/nodePoolCurrentConfigVersion=0123abcd")
	must(t, management.PatchStatus(t.Context(), "hostedcluster", "hosted", `{"ignitionEndpoint": "ignition.example.com",
		"kubeconfig": {"name": "hosted-admin-kubeconfig"}}`))
	for _, secret := range [][2]string{
		{"clusters-hosted/user-data-workers-0123abcd", "value=" + kubetest.Plane.UserData},
		{"clusters-hosted/token-workers-0123abcd", "token=" + writeIgnitionToken(t)},
		{"openshift-machine-api/worker-user-data", "userData=" + kubetest.Plane.WorkerUserData},
		{"clusters/hosted-admin-kubeconfig", "kubeconfig=" + kubetest.Plane.Kubeconfig},
	} {
		namespace, name, _ := strings.Cut(secret[0], "/")
		manifest := kubectl(t, "", "-n", namespace, "create", "secret", "generic", name, "--from-file="+secret[1],
			"--dry-run=client", "-o", "yaml")
		kubectl(t, manifest, "apply", "-f", "-")
	}
}

// writeIgnitionToken writes the token of the user data to a file, and returns its path.
func writeIgnitionToken(t *testing.T) string {
	t.Helper()
	userData, err := ignition.ParseUserData(kubetest.ReadFile(t, kubetest.Plane.UserData))
	must(t, err)
	token, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(userData.Headers.Get("Authorization"), "Bearer "))
	must(t, err)
	path := filepath.Join(t.TempDir(), "token")
	kubetest.WriteFile(t, path, token)
	return path
}

// exampleCSR returns the manifest of a pending CSR.
func exampleCSR(t *testing.T) string {
	t.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, certtest.NewKey(t))
	must(t, err)
	return fmt.Sprintf(`apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {name: example}
spec:
  request: %s
  signerName: example.com/example
  usages: [client auth]
`, base64.StdEncoding.EncodeToString(certtest.PEM("CERTIFICATE REQUEST", der)))
}
