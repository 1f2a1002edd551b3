package ignition

import (
	"path/filepath"
	"strings"
	"testing"
)

// defaultProxyPod returns the pod that HyperShift creates instead of HAProxy if the cluster has
// a proxy (generateKubernetesDefaultProxyPod). It strips the scheme of the proxy's URL.
func defaultProxyPod(proxy string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata:\n  labels:\n    k8s-app: kube-apiserver-proxy\n  name: kube-apiserver-proxy\n  namespace: kube-system\n" +
		"spec:\n  containers:\n  - command:\n    - control-plane-operator\n    - kubernetes-default-proxy\n    - --listen-addr=172.20.0.1:6443\n" +
		"    - --proxy-addr=" + proxy + "\n    - --apiserver-addr=api.example.com:6443\n    image: registry.example.com:5000/cpo:4.18@sha256:0123456789abcdef\n"
}

func TestSecretsAreFoundByContent(t *testing.T) {
	for name, test := range map[string]struct {
		content string
		want    bool
	}{
		"private key":              {"x: |\n  -----BEGIN EC PRIVATE KEY-----\n", true},
		"certificate":              {"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n", false},
		"pull secret":              {`{"auths":{"registry.example.com":{"auth":"dXNlcjpwdw=="}}}`, true},
		"pull secret, encoded":     {`{"source":"data:,%7B%22auths%22%3A%7B%22a%22%3A1%7D%7D"}`, true},
		"client key":               {"users:\n- user:\n    client-key-data: LS0t\n", true},
		"token of a kubeconfig":    {"users:\n- user:\n    token: abcdefghijklmnopqrst\n", true},
		"a token's file":           {"users:\n- user:\n    tokenFile: /var/run/secrets/token\n", false},
		"service account's token":  {"X=eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln\n", true},
		"proxy without a password": {"HTTP_PROXY=http://proxy.example.com:3128\nNO_PROXY=.svc,10.0.0.0/8\n", false},
		"proxy with a password":    {"HTTP_PROXY=http://me:s3cr3t@proxy.example.com:3128\n", true},
		"a password of variables":  {"url=http://$USER:$PASSWORD@proxy:3128\n", false},
		"default proxy":            {defaultProxyPod("proxy.example.com:3128"), false},
		"default proxy's password": {defaultProxyPod("me:s3cr3t@proxy.example.com:3128"), true},
		"an image with a digest":   {"image: quay.example.com/a/b:4.18@sha256:0123\n", false},
		"plain setting":            {"net.ipv4.ip_forward = 1\n", false},
	} {
		if got := ContainsSecret([]byte(test.content)); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}

// Only these files of a payload contain a secret. The mode of the others must not change,
// because containers read some of them.
func TestSecretsOfRealPayloads(t *testing.T) {
	for _, name := range realPayloads(t, "worker-*.ign") {
		p := loadRealPayload(t, name)
		var found []string
		for _, file := range p.Config.Storage.Files {
			if content, _, _ := p.File(file.Path); ContainsSecret(content) {
				found = append(found, file.Path)
			}
		}
		want := "/var/lib/kubelet/config.json /etc/kubernetes/kubeconfig /etc/mcs-machine-config-content.json"
		if got := strings.Join(found, " "); got != want {
			t.Errorf("%s: %s, want %s", filepath.Base(name), got, want)
		}
	}
}
