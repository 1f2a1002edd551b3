// SPDX-License-Identifier: Apache-2.0

package site

import (
	"bytes"
	"fmt"
	"maps"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpproxy"
	"k8s.io/client-go/util/cert"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/rhcos"
)

// Files returns the files of a host of RHEL CoreOS, which installs no packages. The defaults are settings of the join
// that the site can replace.
func (c *Config) Files(defaults map[string]any) ([]rhcos.File, error) {
	settings := map[string]any{}
	maps.Copy(settings, defaults)
	maps.Copy(settings, c.Settings)
	for _, setting := range []string{"installPackages", "software"} { // the agent refuses both there
		delete(settings, setting)
	}
	return c.files(settings)
}

// files returns the files that are the same on hosts with and without packages.
func (c *Config) files(settings map[string]any) ([]rhcos.File, error) {
	var files []rhcos.File
	add := func(path string, mode int, content string) {
		files = append(files, rhcos.File{Path: path, Mode: mode, Content: []byte(content)})
	}
	if c.TrustedCAs != "" {
		cas, err := cert.ParseCertsPEM([]byte(c.TrustedCAs)) // without what is no certificate, such as a key
		if err != nil {
			return nil, fmt.Errorf("trustedCAs: %w", err)
		}
		encoded, err := cert.EncodeCertificates(cas...)
		if err != nil {
			return nil, fmt.Errorf("trustedCAs: %w", err)
		}
		add("/etc/pki/ca-trust/source/anchors/hcp-node-site.pem", 0o644, string(encoded))
	}
	if len(c.NTPServers) > 0 {
		// The settings of RHEL's file, whose servers cannot be replaced by a drop-in.
		add("/etc/chrony.conf", 0o644, "server "+strings.Join(c.NTPServers, " iburst\nserver ")+" iburst\n"+
			"driftfile /var/lib/chrony/drift\nmakestep 1.0 3\nrtcsync\nkeyfile /etc/chrony.keys\nleapsectz right/UTC\n"+
			"logdir /var/log/chrony\n")
	}
	if c.Proxy != nil {
		// systemctl show prints the variables of a unit to every user, but not those of an EnvironmentFile.
		proxy, direct := c.Proxy.URL, strings.Join(c.Proxy.NoProxy, ",")
		add("/etc/sysconfig/hcp-node-agent", 0o600, fmt.Sprintf("HTTP_PROXY='%s'\nHTTPS_PROXY='%s'\nNO_PROXY='%s'\n", proxy,
			proxy, direct))
	}
	content, err := joinConfig(settings)
	if content != nil {
		add("/etc/hcp-node-agent/config.d/10-site.yaml", 0o600, string(content))
	}
	return files, err
}

// repositoryFiles returns the files of the repositories, and of the keys that the settings contain.
func (c *Config) repositoryFiles() []rhcos.File {
	var files []rhcos.File
	for _, r := range c.Repositories {
		if r.hasKey() {
			path := "/etc/pki/rpm-gpg/RPM-GPG-KEY-" + r.Name
			files = append(files, rhcos.File{Path: path, Mode: 0o644, Content: []byte(strings.TrimSpace(r.GPGKey) + "\n")})
			r.GPGKey = "file://" + path
		}
		file := rhcos.File{Path: "/etc/yum.repos.d/" + r.Name + ".repo", Mode: 0o644}
		file.Content = fmt.Appendf(nil, "[%[1]s]\nname=%[1]s\nbaseurl=%[2]s\ngpgkey=%[3]s\ngpgcheck=1\nenabled=1\n", r.Name,
			r.BaseURL, r.GPGKey)
		if proxy := c.proxyFor(r.BaseURL); proxy != nil {
			user := proxy.User
			proxy.User = nil
			file.Content = fmt.Appendf(file.Content, "proxy=%s\n", proxy)
			if user != nil {
				password, _ := user.Password()
				file.Content = fmt.Appendf(file.Content, "proxy_username=%s\nproxy_password=%s\n", user.Username(), password)
			}
		}
		if bytes.Contains(file.Content, []byte("\nproxy_password=")) || strings.Contains(r.BaseURL, "@") {
			file.Mode = 0o600
		}
		files = append(files, file)
	}
	return files
}

// proxyFor returns the proxy for a URL, nil for none.
func (c *Config) proxyFor(text string) *url.URL {
	target, err := url.Parse(text)
	if c.Proxy == nil || err != nil || target.Scheme == "file" {
		return nil
	}
	settings := httpproxy.Config{
		HTTPProxy: c.Proxy.URL, HTTPSProxy: c.Proxy.URL, NoProxy: strings.Join(c.Proxy.NoProxy, ","),
	}
	proxy, _ := settings.ProxyFunc()(target) // its URL is checked
	return proxy
}

// commands returns the lines of a shell script that installs the agent after the files exist, and starts its service.
// During an installation, systemctl starts nothing and reports success: the service starts at the next boot.
func (c *Config) commands() string {
	var lines []string
	if c.TrustedCAs != "" {
		lines = append(lines, "update-ca-trust")
	}
	if len(c.NTPServers) > 0 {
		lines = append(lines, "systemctl try-restart chronyd.service || :")
	}
	if c.Subscription != nil {
		lines = append(lines, c.registration()...)
	}
	return strings.Join(append(lines, "rpm --quiet -q hcp-node-agent || dnf -y install hcp-node-agent",
		"systemctl start --no-block hcp-node-agent.service hcp-node-agent.path", ""), "\n")
}

// registration returns the commands that register a host, unless it is registered.
func (c *Config) registration() []string {
	var lines []string
	if c.Proxy != nil {
		proxy := c.Proxy.parsed()
		port := proxy.Port()
		if port == "" {
			port = map[string]string{"http": "80", "https": "443"}[proxy.Scheme]
		}
		options := "--server.proxy_scheme=" + proxy.Scheme + " --server.proxy_hostname=" + proxy.Hostname() +
			" --server.proxy_port=" + port
		if password, hasPassword := proxy.User.Password(); hasPassword {
			options += " --server.proxy_user=" + report.ShellWord(proxy.User.Username()) +
				" --server.proxy_password=" + report.ShellWord(password)
		}
		if len(c.Proxy.NoProxy) > 0 {
			options += " --server.no_proxy=" + report.ShellWord(strings.Join(c.Proxy.NoProxy, ","))
		}
		lines = append(lines, "subscription-manager config "+options)
	}
	lines = append(lines, "subscription-manager identity >/dev/null 2>&1 ||\n  subscription-manager register --org="+
		report.ShellWord(c.Subscription.Organization)+" --activationkey="+report.ShellWord(c.Subscription.ActivationKey))
	for i, repository := range c.Subscription.Repositories {
		if i == 0 {
			lines = append(lines, "subscription-manager repos")
		}
		lines[len(lines)-1] += " --enable=" + repository
	}
	return lines
}

// Missing returns notes about what hosts with packages must already have, because their files do not install it.
func (c *Config) Missing() []report.Finding {
	note := func(missing, cause string) report.Finding {
		return report.Finding{
			Severity: report.SeverityNote, Check: "site",
			Message: "each host must already have " + missing + ": the settings of the site " + cause,
		}
	}
	var findings []report.Finding
	if len(c.Repositories) == 0 && c.Subscription == nil {
		findings = append(findings, note("hcp-node-agent, or a repository with it", "contain neither repositories nor a "+
			"subscription"))
	}
	if c.Settings["installPackages"] != true {
		findings = append(findings, note("kubelet, CRI-O and Open vSwitch", "do not contain installPackages: true"))
	}
	return findings
}
