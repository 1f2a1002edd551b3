// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"encoding/json"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node/pods"
)

// daemonConfigPath is a file of the machine-config-daemon. It runs on the nodes of standalone clusters.
const daemonConfigPath = "/etc/machine-config-daemon/currentconfig"

// maintainedFiles are the files of a payload that components of the cluster rewrite on a running node.
var maintainedFiles = []struct {
	path     string // a file, or a directory of files
	byDaemon bool   // by the machine-config-daemon (machine-config-operator, pkg/daemon/certificate_writer.go)
	isValid  func(content []byte) bool
}{
	// HyperShift's DaemonSet global-pull-secret-syncer writes the pull secret on nodes with the label
	// hypershift.openshift.io/nodepool-globalps-enabled=true, and the service on others: see bootstrap.RenewPullSecret.
	{path: pods.PullSecretPath, isValid: IsPullSecret},
	{path: "/etc/mco/internal-registry-pull-secret.json", byDaemon: true, isValid: IsPullSecret},
	{path: node.ClientCAPath, byDaemon: true, isValid: isBundle},
	{
		path: "/etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem", byDaemon: true,
		isValid: isBundle,
	},
	{path: crio.TrustBundlePath, byDaemon: true, isValid: isBundle},
	{path: "/etc/docker/certs.d", byDaemon: true, isValid: isBundle},
	{path: ignition.BootstrapKubeconfigPath, byDaemon: true, isValid: isKubeconfig},
	// The daemon renames the file when it has read it (pkg/daemon/daemon.go).
	{
		path: "/etc/machine-config-daemon/node-annotations.json", byDaemon: true,
		isValid: func(content []byte) bool { return content == nil },
	},
}

// isMaintained reports whether a component of the cluster may have written the content of a file of the payload.
func isMaintained(files hostfs.Reader, target string, content []byte) bool {
	for _, one := range maintainedFiles {
		if !hostfs.IsWithin(target, one.path) {
			continue
		}
		if one.byDaemon {
			if hasDaemon, err := files.Exists(daemonConfigPath); err != nil || !hasDaemon {
				return false
			}
		}
		return one.isValid(content)
	}
	return false
}

// IsPullSecret reports whether the content has the format of .dockerconfigjson, with a credential for each registry.
func IsPullSecret(content []byte) bool {
	var secret struct {
		Auths map[string]struct {
			Auth     string `json:"auth"`
			Username string `json:"username"`
		} `json:"auths"`
	}
	if json.Unmarshal(content, &secret) != nil {
		return false
	}
	for _, credential := range secret.Auths {
		if credential.Auth == "" && credential.Username == "" {
			return false
		}
	}
	return len(secret.Auths) > 0
}

func isBundle(content []byte) bool {
	certificates, err := kube.ParsePEMCertificates(content)
	return err == nil && len(certificates) > 0
}

func isKubeconfig(content []byte) bool {
	cluster, err := kube.ParseCluster(content)
	return err == nil && len(cluster.CA) > 0
}
