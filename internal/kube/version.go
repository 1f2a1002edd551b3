// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Version is a Kubernetes version.
type Version struct{ parsed *version.Version }

// MinorVersion returns Kubernetes 1.minor, or an unknown version for 0.
func MinorVersion(minor int) Version {
	if minor <= 0 {
		return Version{}
	}
	return Version{parsed: version.MajorMinor(1, uint(minor))}
}

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

// ServerVersion returns the version of the API server, which it requests once.
func (c *Conn) ServerVersion(ctx context.Context) (Version, error) {
	content, err := do(ctx, c.Client.RESTClient().Get().AbsPath("/version")).Raw()
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

// ServerVersion requests the version of the API server that a kubeconfig names.
// Any credential suffices. A response also proves that the server is reachable
// and that the CA in the kubeconfig verifies it. Requests are retried until ctx
// ends.
func ServerVersion(ctx context.Context, kubeconfig []byte, proxy Proxy, log report.Log) (Version, error) {
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return Version{}, report.Fail(report.Usage, "", "reading kubeconfig: %w", err)
	}
	connection, err := Connect(config, proxy)
	if err != nil {
		return Version{}, err
	}
	return Fetch(ctx, connection, log, "getting the API server's version", func() (Version, error) {
		return connection.ServerVersion(ctx)
	})
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

// CheckSkew fails for a kubelet that is newer than the API server, or older than Kubernetes supports
// (https://kubernetes.io/releases/version-skew-policy/#kubelet). It does not fail if one of them is unknown.
func CheckSkew(server, kubelet Version) error {
	const remedy = "# install the kubelet of the NodePool's release"
	if server.parsed == nil || kubelet.parsed == nil {
		return nil
	}
	if kubelet.parsed.Major() != server.parsed.Major() || kubelet.Minor() > server.Minor() {
		return report.Fail(report.Refused, remedy,
			"kubelet %s is newer than the API server %s, which Kubernetes does not support", kubelet, server)
	}
	supported := 3
	if server.Minor() < 28 {
		supported = 2
	}
	if older := server.Minor() - kubelet.Minor(); older > supported {
		return report.Fail(report.Refused, remedy,
			"kubelet %s is %d minor versions older than the API server %s; at most %d are supported",
			kubelet, older, server, supported)
	}
	return nil
}
