// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/autojoin"
	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/redact"
)

// secretFiles returns the files of a node that contain secrets, and the input files
// in the configurations.
func (g collector) secretFiles(configs ...config.Join) []string {
	files := []string{
		"/var/lib/kubelet/config.json", "/etc/mcs-machine-config-content.json", ignition.BootstrapKubeconfigPath, identity.KubeconfigPath,
		"/etc/mco/proxy.env", "/etc/kubernetes/manifests/kube-apiserver-proxy.yaml", "/root/.docker/config.json", "/run/containers/0/auth.json", "/etc/environment",
	}
	for _, dir := range []string{
		g.dir, path.Join(g.dir, joinstate.KeyDir), identity.PKIDirectory, autojoin.DefaultDir, "/etc/hcp-node-agent/config.d",
		"/etc/NetworkManager/system-connections", "/run/NetworkManager/system-connections",
		"/etc/systemd/system/kubelet.service.d", "/etc/systemd/system/crio.service.d", "/etc/systemd/system.conf.d", "/etc/ssh",
	} {
		for _, name := range g.names(dir) {
			files = append(files, path.Join(dir, name))
		}
	}
	for _, c := range configs {
		for _, given := range append([]string{c.UserData, c.TokenFile, c.ApproveWith}, c.IgnitionOverrides...) {
			if file, err := filepath.Abs(given); err == nil && given != "" && given != "-" {
				files = append(files, file)
			}
		}
	}
	return files
}

// secrets returns the secrets in the files that can be read.
func (g collector) secrets(configs ...config.Join) []string {
	var secrets []string
	for _, file := range g.secretFiles(configs...) {
		if info, err := g.tree.Lstat(file); err != nil || info.Type != hostfs.Regular {
			continue
		}
		content, err := g.read(file)
		if err != nil {
			continue
		}
		secrets = append(secrets, redact.Find(string(content))...)
		if slices.ContainsFunc(configs, func(c config.Join) bool { return path.Base(c.TokenFile) == path.Base(file) }) {
			secrets = append(secrets, strings.TrimSpace(string(content))) // the whole file is the token
		}
	}
	return secrets
}

// payloadSecrets returns the secrets in the payload itself and in those of its
// files that are secret or contain proxy settings.
func payloadSecrets(payload *ignition.Payload) []string {
	secrets := redact.Find(string(payload.Raw))
	for _, file := range payload.Config.Storage.Files {
		content, mode, _ := payload.File(file.Path)
		if redact.IsSecretFile(file.Path, content, mode) || path.Ext(file.Path) == ".env" || ignition.ContainsSecret(content) {
			secrets = append(secrets, redact.Find(string(content))...)
		}
	}
	return secrets
}
