// SPDX-License-Identifier: Apache-2.0

package site

import (
	"strings"
	"testing"
)

// One problem is reported, at its place, and without a value that can be a secret.
func TestParseRefuses(t *testing.T) {
	const repository = "repositories: [{name: a, gpgkey: 'https://a/k', baseurl: "
	const key = "repositories: [{name: a, baseurl: 'https://a', gpgkey: "
	for _, test := range []struct{ content, want string }{
		{"a: 1\n", `unknown field "a"`},
		{"kind: SiteConfig\n", "already set in map"},
		{
			repository + "'SECRET'}]",
			"repositories[0].baseurl: the scheme of the URL must be one of https, http, file",
		},
		{repository + "'https://'}]", "repositories[0].baseurl: the URL contains no host"},
		{
			repository + "'file://a/b'}]",
			"repositories[0].baseurl: the URL contains no host, or a host of a file",
		},
		{repository + "'https://a b'}]", "repositories[0].baseurl: the value is not a valid URL"},
		{repository + "\"https://a/\\nSECRET\"}]", "repositories[0].baseurl: the value is not a valid URL"},
		{
			key + "'http://a'}]",
			"repositories[0].gpgkey: the scheme of the URL must be one of https, file",
		},
		{key + "''}]", "repositories[0].gpgkey: the scheme"},
		{
			key + "\"-----BEGIN PGP PUBLIC KEY BLOCK-----\\nEND_OF_FILE\\n\"}]",
			"repositories[0].gpgkey: ",
		},
		{
			"repositories: [{name: ../a}]",
			`repositories[0].name: "../a" must consist of letters`,
		},
		{
			"repositories: [{name: a, baseurl: 'https://a', gpgkey: 'file:///k'}, {name: a}]",
			"repositories[1].name: a is listed twice",
		},
		{
			"subscription: {organization: a}",
			"subscription.organization, activationKey: both are required",
		},
		{
			"subscription: {organization: a, activationKey: \"SECRET\\nb\"}",
			"subscription.organization, activationKey: both",
		},
		{
			"subscription: {organization: a, activationKey: b, repositories: [a b]}",
			`subscription.repositories[0]: invalid value "a b"`,
		},
		{
			"proxy: {url: proxy.example.com:3128}",
			"proxy.url: the scheme of the URL must be one of http, https",
		},
		{
			"proxy: {url: 'http://a:SECRET@'}",
			"proxy.url: the URL contains no host",
		},
		{
			"proxy: {url: 'http://a:SECRET%0A@b'}",
			"proxy.url: user and password must not contain control",
		},
		{
			"proxy: {url: 'http://a', noProxy: ['a,b']}",
			`proxy.noProxy[0]: invalid value "a,b"`,
		},
		{
			"trustedCAs: SECRET",
			"trustedCAs: no valid certificate in PEM form",
		},
		{
			"ntpServers: ['a b']",
			`ntpServers[0]: invalid value "a b"`,
		},
		{
			"settings: {instalPackages: true}",
			"settings: instalPackages: unknown setting",
		},
		{
			"settings: {timeout: never}",
			"settings: timeout",
		},
	} {
		_, err := Parse([]byte(header + test.content))
		if err == nil || strings.Count(err.Error(), test.want) != 1 || strings.Contains(err.Error(), "SECRET") ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s\ngot  %v\nwant %s", test.content, err, test.want)
		}
	}
	for _, content := range []string{"", "[]", "kind: SiteConfig\n", strings.Replace(header, "v1alpha1", "v1", 1)} {
		if _, err := Parse([]byte(content)); err == nil {
			t.Errorf("%q is accepted", content)
		}
	}
}
