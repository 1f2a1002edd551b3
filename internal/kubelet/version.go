// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Version is a Kubernetes version.
type Version struct{ parsed *version.Version }

// ParseVersion parses "v1.31.4+0d2c0fe" as well as the output of "kubelet
// --version".
func ParseVersion(text string) (Version, error) {
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return Version{}, errors.New("reading a Kubernetes version: it is empty")
	}
	parsed, err := version.ParseGeneric(fields[len(fields)-1])
	if err != nil {
		return Version{}, fmt.Errorf("reading a Kubernetes version: %w", err)
	}
	return Version{parsed: parsed}, nil
}

// ServerVersion requests the version of the API server that a kubeconfig names.
// Any credential suffices. A response also proves that the server is reachable
// and that the CA in the kubeconfig verifies it. Requests are retried until ctx
// ends.
func ServerVersion(ctx context.Context, kubeconfig []byte, proxy kube.Proxy, log report.Log) (Version, error) {
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return Version{}, report.Fail(report.Usage, "", "reading kubeconfig: %w", err)
	}
	connection, err := kube.Connect(config, proxy)
	if err != nil {
		return Version{}, err
	}
	var content []byte
	err = connection.Retry(ctx, log, "getting the API server's version", func(ctx context.Context) error {
		content, err = connection.Client.RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
		return err
	})
	if err != nil {
		return Version{}, err
	}
	var answer struct {
		GitVersion string `json:"gitVersion"`
	}
	if err := json.Unmarshal(content, &answer); err != nil {
		return Version{}, fmt.Errorf("reading the API server's version: %w", err)
	}
	return ParseVersion(answer.GitVersion)
}

// String returns major.minor.patch.
func (v Version) String() string {
	if v.parsed == nil {
		return "unknown"
	}
	return v.parsed.String()
}

// Minor returns N of Kubernetes 1.N, 0 for any other version.
func (v Version) Minor() int {
	if v.parsed == nil || v.parsed.Major() != 1 {
		return 0
	}
	return int(v.parsed.Minor()) //nolint:gosec // a minor version
}

// CheckSkew fails for a kubelet that is newer than the API server, or more than
// three minor versions older
// (https://kubernetes.io/releases/version-skew-policy/#kubelet).
func CheckSkew(server, kubelet Version) error {
	if server.parsed == nil || kubelet.parsed == nil {
		return nil
	}
	kubeletMinor, serverMinor := kubelet.parsed.Minor(), server.parsed.Minor()
	switch {
	case kubelet.parsed.Major() != server.parsed.Major() || kubeletMinor > serverMinor:
		return report.Fail(report.Refused, "# install the kubelet of the NodePool's release",
			"kubelet %s is newer than the API server %s, which Kubernetes does not support", kubelet, server)
	case kubeletMinor+3 < serverMinor:
		return report.Fail(report.Refused, "# install the kubelet of the NodePool's release",
			"kubelet %s is %d minor versions older than the API server %s; at most three are supported", kubelet,
			serverMinor-kubeletMinor,
			server)
	}
	return nil
}
