// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// worldReadable is the mode bit that allows all users to read a file.
const worldReadable = 0o004

var keyMaterial = regexp.MustCompile(`PRIVATE KEY(?: BLOCK)?-----|"auths?\\?"[ \t\n]*:|client-key-data|\$ANSIBLE_VAULT`)

// IsSecretFile reports whether a file is secret as a whole, so that none of its content may be
// shown. It is if not all users may read it (in any of the modes), if its path is a known
// secret, or if its content is a key.
func IsSecretFile(file string, content []byte, modes ...uint32) bool {
	if slices.ContainsFunc(modes, func(mode uint32) bool { return mode&worldReadable == 0 }) {
		return true
	}
	return isSecretPath(path.Clean(file)) || keyMaterial.Match(content)
}

func isSecretPath(file string) bool {
	for _, dir := range []string{
		"/etc/NetworkManager/system-connections/", "/run/NetworkManager/system-connections/",
		"/var/lib/hcp-node-agent/", "/var/lib/kubelet/pki/", "/etc/pki/entitlement/", "/etc/pki/tls/private/",
		"/etc/ipsec.d/", "/etc/wireguard/",
	} {
		if strings.HasPrefix(file, dir) {
			return true
		}
	}
	switch file {
	case "/var/lib/kubelet/config.json", "/etc/mcs-machine-config-content.json",
		"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/security/opasswd", "/etc/krb5.keytab",
		"/etc/mcd-currentconfig.json", "/etc/machine-config-daemon/currentconfig":
		return true
	}
	name := strings.ToLower(path.Base(file))
	switch name {
	case ".dockercfg", "auth.json", "id_rsa", "id_ecdsa", "id_ed25519", ".netrc", ".pgpass":
		return true
	}
	switch path.Ext(name) {
	case ".key", ".keytab", ".p12", ".pfx", ".jks", ".kdbx", ".nmconnection":
		return true
	}
	return strings.Contains(name, "kubeconfig") || strings.HasSuffix(file, "/.docker/config.json") ||
		strings.HasPrefix(name, "ssh_host_") && !strings.HasSuffix(name, ".pub")
}
