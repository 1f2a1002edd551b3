// SPDX-License-Identifier: Apache-2.0

// Package site describes what all hosts of a site have in common: repositories, subscription, proxy, CAs, NTP servers
// and settings of the agent. With them, the file of a host is its only input at its first boot.
package site

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode"

	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/redact"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Kind is the kind of the file with the settings of a site.
const Kind = "SiteConfig"

// Config contains the settings of a site. It can contain secrets.
type Config struct {
	report.TypeMeta
	Repositories []Repository   `json:"repositories,omitempty" doc:"package repositories: that of hcp-node-agent, and mirrors of those of RHEL"`
	Subscription *Subscription  `json:"subscription,omitempty" doc:"registration with Red Hat or Satellite"`
	Proxy        *Proxy         `json:"proxy,omitempty" doc:"proxy for the repositories, the registration and the agent"`
	TrustedCAs   string         `json:"trustedCAs,omitempty" doc:"CA certificates in PEM format that the hosts trust, for example those of the repositories"`
	NTPServers   []string       `json:"ntpServers,omitempty" doc:"names or addresses of NTP servers, which replace those of /etc/chrony.conf"`
	Settings     map[string]any `json:"settings,omitempty" doc:"settings of the agent, as in its configuration file of kind JoinConfig"`
}

// Repository is a repository of RPMs. Their signatures are always checked.
type Repository struct {
	Name    string `json:"name" doc:"identifier, which is also the name of the file in /etc/yum.repos.d"`
	BaseURL string `json:"baseurl" doc:"URL (https, http or file); can contain variables of dnf such as $basearch"`
	GPGKey  string `json:"gpgkey" doc:"the public key in ASCII armor, or its URL (https or file)"`
}

// Subscription describes the registration of a host by subscription-manager.
type Subscription struct {
	Organization  string   `json:"organization" doc:"ID of the organization"`
	ActivationKey string   `json:"activationKey" doc:"activation key, which is a secret"`
	Repositories  []string `json:"repositories,omitempty" doc:"repositories to enable; absent: those of the key"`
}

// Proxy is an HTTP proxy.
type Proxy struct {
	URL     string   `json:"url" doc:"URL of the proxy, which can contain user and password"`
	NoProxy []string `json:"noProxy,omitempty" doc:"hosts, domains and CIDRs to which connections are direct"`
}

var (
	names   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)
	hosts   = regexp.MustCompile(`^[A-Za-z0-9.:/_*-]+$`)
	armored = regexp.MustCompile(`^-----BEGIN PGP PUBLIC KEY BLOCK-----\n[A-Za-z0-9+/=:.() \n-]+` +
		`\n-----END PGP PUBLIC KEY BLOCK-----\s*$`)
)

// Parse parses and checks the settings of a site. Its errors do not contain values that can be secrets.
func Parse(content []byte) (*Config, error) {
	c := &Config{}
	if err := yaml.UnmarshalStrict(content, c); err != nil {
		return nil, errors.New(strings.Join(strings.Fields(redact.Text(err.Error())), " "))
	}
	return c, c.check()
}

// check returns the first problem.
func (c *Config) check() error {
	if c.TypeMeta != report.Meta(Kind) {
		return fmt.Errorf("apiVersion must be %s, and kind %s", report.APIVersion, Kind)
	}
	known := map[string]bool{}
	for i, r := range c.Repositories {
		if err := r.check(known); err != nil {
			return fmt.Errorf("repositories[%d].%w", i, err)
		}
	}
	if s := c.Subscription; s != nil {
		if err := s.check(); err != nil {
			return fmt.Errorf("subscription.%w", err)
		}
	}
	if c.Proxy != nil {
		if err := c.Proxy.check(); err != nil {
			return fmt.Errorf("proxy.%w", err)
		}
	}
	if c.TrustedCAs != "" {
		if _, err := cert.ParseCertsPEM([]byte(c.TrustedCAs)); err != nil {
			return errors.New("trustedCAs: no valid certificate in PEM form")
		}
	}
	if err := checkAll("ntpServers", hosts, c.NTPServers); err != nil {
		return err
	}
	_, err := joinConfig(c.Settings)
	return err
}

func (r Repository) check(known map[string]bool) error {
	switch {
	case !names.MatchString(r.Name):
		return fmt.Errorf("name: %q must consist of letters, digits, and the characters _ . -", r.Name)
	case known[r.Name]:
		return fmt.Errorf("name: %s is listed twice", r.Name)
	}
	known[r.Name] = true
	if err := checkURL("baseurl", r.BaseURL, "https", "http", "file"); err != nil {
		return err
	}
	if r.hasKey() {
		return nil
	}
	return checkURL("gpgkey", r.GPGKey, "https", "file") // with http, the key would protect nothing
}

// hasKey reports whether the settings contain the key itself.
func (r Repository) hasKey() bool { return armored.MatchString(r.GPGKey) }

func (s Subscription) check() error {
	for _, value := range []string{s.Organization, s.ActivationKey} {
		if value == "" || strings.ContainsFunc(value, unicode.IsControl) {
			return errors.New("organization, activationKey: both are required, each a line of text")
		}
	}
	return checkAll("repositories", names, s.Repositories)
}

func (p Proxy) check() error {
	if err := checkURL("url", p.URL, "http", "https"); err != nil {
		return err
	}
	proxy := p.parsed()
	password, _ := proxy.User.Password()
	if strings.ContainsFunc(proxy.User.Username()+password, unicode.IsControl) {
		return errors.New("url: user and password must not contain control characters")
	}
	return checkAll("noProxy", hosts, p.NoProxy)
}

// parsed returns the URL, which check has accepted.
func (p Proxy) parsed() *url.URL {
	proxy, _ := url.Parse(p.URL)
	return proxy
}

func checkAll(field string, valid *regexp.Regexp, values []string) error {
	for i, value := range values {
		if !valid.MatchString(value) {
			return fmt.Errorf("%s[%d]: invalid value %q", field, i, value)
		}
	}
	return nil
}

// checkURL checks a URL, which must not need quotes in a configuration file.
func checkURL(field, text string, schemes ...string) error {
	parsed, err := url.Parse(text)
	if err != nil || strings.ContainsAny(text, " \t'\"\\") {
		return errors.New(field + ": the value is not a valid URL")
	}
	if err := config.OneOf(schemes)(parsed.Scheme); err != nil {
		return fmt.Errorf("%s: the scheme of the URL %w", field, err)
	}
	if (parsed.Hostname() == "") == (parsed.Scheme != "file") {
		return fmt.Errorf("%s: the URL contains no host, or a host of a file", field)
	}
	return nil
}

// joinConfig returns settings of the agent as its configuration file, nil if there are none.
func joinConfig(settings map[string]any) ([]byte, error) {
	if len(settings) == 0 {
		return nil, nil
	}
	content, err := yaml.Marshal(settings)
	if err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	content = fmt.Appendf(nil, "apiVersion: %s\nkind: %s\n%s", report.APIVersion, config.Kind, content)
	source := config.Source{File: "-", Stdin: bytes.NewReader(content), NoDropIns: true}
	if problems := config.Explain(source).Problems; len(problems) > 0 {
		return nil, fmt.Errorf("settings: %s", problems[0].Message)
	}
	return content, nil
}
