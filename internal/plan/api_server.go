// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
)

// Files of a payload with the address of the API server (HyperShift, nodepool/apiserver-haproxy;
// machine-config-operator, templates/common/_base/files/apiserver-url-env.yaml).
const (
	proxyConfigPath  = "/etc/kubernetes/apiserver-proxy-config/haproxy.cfg"
	proxyPodPath     = "/etc/kubernetes/manifests/kube-apiserver-proxy.yaml"
	apiServerEnvPath = "/etc/kubernetes/apiserver-url.env"
)

// APIServerFiles returns the paths of the files with the address of the API server: of the static pod
// kube-apiserver-proxy, which all pods use, and the environment of pods in the host network.
func APIServerFiles() []string { return []string{proxyConfigPath, proxyPodPath, apiServerEnvPath} }

// Patterns of the addresses in the files of the static pod: of HAProxy, and of kubernetes-default-proxy, which replaces
// HAProxy if the API server is reached through an HTTPS proxy.
var (
	remoteAddress = regexp.MustCompile(`(?m)(?:^\s*server\s+\S+\s+|--apiserver-addr=)([^\s"']+)`)
	localAddress  = regexp.MustCompile(`(?m)(?:^\s*bind\s+|--listen-addr=)([^\s"']+)`)
)

// RemoteAPIServer returns the URL of the API server to which the static pod with this file connects, "" if the file
// does not contain it.
func RemoteAPIServer(content []byte) string { return matchURL(remoteAddress, content) }

// LocalAPIServer returns the URL at which the static pod with this file serves the API, "" if the file does not contain
// it.
func LocalAPIServer(content []byte) string { return matchURL(localAddress, content) }

func matchURL(pattern *regexp.Regexp, content []byte) string {
	found := pattern.FindSubmatch(content)
	if found == nil {
		return ""
	}
	return "https://" + string(found[1])
}

// ReplaceAPIServer returns the content of a file with the address of the API server at the URL next in place of those
// at the former URLs. Other addresses remain.
func ReplaceAPIServer(content []byte, former []string, next string) []byte {
	host, port := splitURL(next)
	for _, one := range former {
		formerHost, formerPort := splitURL(one)
		if host == "" || formerHost == "" || kube.NormalizeServer(one) == kube.NormalizeServer(next) {
			continue
		}
		content = replaceWord(content, net.JoinHostPort(formerHost, formerPort), net.JoinHostPort(host, port))
		if strings.Contains(formerHost, ":") { // HyperShift writes no brackets
			content = replaceWord(content, formerHost+":"+formerPort, net.JoinHostPort(host, port))
		}
		content = regexp.MustCompile(`(KUBERNETES_SERVICE_HOST=)'`+regexp.QuoteMeta(formerHost)+
			`'(\s+KUBERNETES_SERVICE_PORT=)'`+regexp.QuoteMeta(formerPort)+`'`).
			ReplaceAll(content, []byte("${1}'"+literal(host)+"'${2}'"+port+"'"))
	}
	return content
}

// replaceWord replaces an address that is neither preceded nor followed by another part of an address.
func replaceWord(content []byte, from, to string) []byte {
	return regexp.MustCompile(`(^|[\s='"])`+regexp.QuoteMeta(from)+`($|[\s'"])`).
		ReplaceAll(content, []byte("${1}"+literal(to)+"${2}"))
}

// literal returns text as a part of the replacement of a regular expression.
func literal(text string) string { return strings.ReplaceAll(text, "$", "$$") }

// splitURL returns the host and the port of a URL, "" if it is not valid.
func splitURL(server string) (host, port string) {
	parsed, err := url.Parse(server)
	if err != nil {
		return "", ""
	}
	return parsed.Hostname(), cmp.Or(parsed.Port(), "443")
}

// useAPIServer replaces the addresses of the API server from before it moved in the files of the plan. A payload that
// was fetched names the present URL.
func (b builder) useAPIServer(p *Plan) {
	next := cmp.Or(p.Cluster.Server, b.settings.APIServer)
	for i, file := range p.Files {
		if slices.Contains(APIServerFiles(), file.Target) && file.Desired.Present {
			content := ReplaceAPIServer(file.Desired.Content, b.settings.FormerAPIServers, next)
			p.Files[i].Desired = file.Desired.WithContent(content)
		}
	}
}
