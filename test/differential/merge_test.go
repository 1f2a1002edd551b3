// SPDX-License-Identifier: Apache-2.0

//go:build differential

package differential

import "testing"

const serverFile = `"storage":{"files":[{"path":"/etc/new","contents":{"source":"HTTP/file"}}]}`

// TestReferences compares configs that refer to others. It uses first boots, because
// ignition-apply ignores the settings in the ignition section of a config.
func TestReferences(t *testing.T) { runAll(t, references()) }

func references() []scenario {
	ign := func(settings, sections string) string {
		return `{"ignition":{"version":"3.4.0"` + settings + `},` + sections + `}`
	}
	secure := `"storage":{"files":[{"path":"/etc/new","contents":{"source":"HTTPS/file"}}]}`
	scenarios := []scenario{
		{
			name: "merge",
			config: ign(`,"config":{"merge":[{"source":"MERGED"}]}`,
				`"storage":{"files":[{"path":"/etc/both","mode":420,"append":[{"source":"data:,p"}]}]}`),
		},
		{
			name: "merge, units too",
			config: ign(`,"config":{"merge":[{"source":"HTTP/config"}]}`,
				`"systemd":{"units":[{"name":"b.service","enabled":true,"dropins":[{"name":"10-parent.conf",
					"contents":"[Unit]\n"}]}]}`),
		},
		{
			name:   "replace",
			config: ign(`,"config":{"replace":{"source":"MERGED"}}`, `"storage":{"files":[{"path":"/etc/parent"}]}`),
		},
		{
			name:   "replace wins over merge",
			config: ign(`,"config":{"replace":{"source":"HTTP/config"},"merge":[{"source":"HTTP/nowhere"}]}`, `"storage":{}`),
		},
		{
			name:   "merge what is compressed and verified",
			config: ign(`,"config":{"merge":[{"source":"GZCONFIG","compression":"gzip"}]}`, `"storage":{}`),
		},
		{
			name: "merge with headers",
			config: ign(`,"config":{"merge":[{"source":"HTTP/config","httpHeaders":[{"name":"X-Test","value":"a"}]}]}`,
				`"storage":{}`),
		},
		{
			name:     "merge what is no config",
			config:   ign(`,"config":{"merge":[{"source":"HTTP/bad-config"}]}`, `"storage":{}`),
			bothFail: "/bad-config",
		},
		{
			name:     "merge a missing config",
			config:   ign(`,"config":{"merge":[{"source":"HTTP/nowhere"}]}`, `"storage":{}`),
			bothFail: "/nowhere",
		},
		{
			name:     "merge with a wrong hash",
			config:   ign(`,"config":{"merge":[{"source":"MERGED","verification":{"hash":"SHA512"}}]}`, `"storage":{}`),
			bothFail: "sha512",
		},
		{
			name:     "merge what is not valid together",
			config:   ign(`,"config":{"merge":[{"source":"MERGED"}]}`, `"storage":{"links":[{"path":"/etc","target":"x"}]}`),
			bothFail: "link",
		},
		{
			name:   "merge a file in place of a link",
			config: ign(`,"config":{"merge":[{"source":"MERGED"}]}`, `"storage":{"links":[{"path":"/etc/child","target":"x"}]}`),
		},
		{name: "http", config: ign("", serverFile)},
		{
			name: "http, appended",
			config: ign("",
				`"storage":{"files":[{"path":"/etc/new","append":[{"source":"HTTP/file"},
					{"source":"HTTP/gzip","compression":"gzip","verification":{"hash":"SHA512"}}]}]}`),
		},
		{
			name: "http with headers",
			config: ign("",
				`"storage":{"files":[{"path":"/etc/new","contents":{"source":"HTTP/seen","httpHeaders":[{"name":"X-Test",
					"value":"yes"}]}},{"path":"/etc/more","append":[{"source":"HTTP/seen","httpHeaders":[{"name":"X-Test",
					"value":"b"}]}]}]}`),
		},
		{
			name: "http, headers after a redirect",
			config: ign("",
				`"storage":{"files":[{"path":"/etc/new","contents":{"source":"HTTP/moved","httpHeaders":[{"name":"X-Test",
					"value":"secret"}]}}]}`),
		},
		{name: "http, 204", config: ign("", `"storage":{"files":[{"path":"/etc/new","contents":{"source":"HTTP/empty"}}]}`)},
		{
			name:     "http, 404",
			config:   ign("", `"storage":{"files":[{"path":"/etc/new","contents":{"source":"HTTP/nowhere"}}]}`),
			bothFail: "/nowhere",
		},
		{
			name:   "http, 503 once",
			config: ign("", `"storage":{"files":[{"path":"/etc/new","contents":{"source":"HTTP/flaky?RUN"}}]}`),
		},
		{name: "http, in time", config: ign(`,"timeouts":{"httpResponseHeaders":20,"httpTotal":30}`, serverFile)},
		{
			name: "http, too late",
			config: ign(`,"timeouts":{"httpResponseHeaders":1,"httpTotal":2}`,
				`"storage":{"files":[{"path":"/etc/first"},{"path":"/etc/new","contents":{"source":"HTTP/slow"}}]}`),
			bothFail: "/slow",
		},
		{
			name: "http, wrong hash",
			config: ign("",
				`"storage":{"files":[{"path":"/etc/first"},
					{"path":"/etc/new","contents":{"source":"HTTP/file","verification":{"hash":"SHA512"}}}]}`),
			bothFail: "sha512",
		},
		{
			name: "http, not compressed",
			config: ign("",
				`"storage":{"files":[{"path":"/etc/new","contents":{"source":"HTTP/file","compression":"gzip"}}]}`),
			bothFail: "gzip",
		},
		{
			name:   "https, authority",
			config: ign(`,"security":{"tls":{"certificateAuthorities":[{"source":"AUTHORITY"}]}}`, secure),
		},
		{
			name: "https, authority compressed, from a server",
			config: ign(`,"security":{"tls":{"certificateAuthorities":[{"source":"HTTP/authority","compression":"gzip",
				"httpHeaders":[{"name":"X-Test","value":"a"}],"verification":{"hash":"AUTHORITYSUM"}}]}}`, secure),
		},
		{name: "https, not trusted", config: ign(`,"timeouts":{"httpTotal":2}`, secure), bothFail: "certificate"},
		{
			name: "proxy",
			config: ign(`,"proxy":{"httpProxy":"PROXY"}`,
				`"storage":{"files":[{"path":"/etc/new","contents":{"source":"http://nowhere.invalid/x"}}]}`),
		},
		{
			name: "no proxy for some",
			config: ign(`,"proxy":{"httpProxy":"PROXY","httpsProxy":"PROXY","noProxy":["127.0.0.1"]}`,
				`"storage":{"files":[{"path":"/etc/new","contents":{"source":"http://nowhere.invalid/x"}},
					{"path":"/etc/direct","contents":{"source":"HTTP/file"}}]}`),
		},
		{
			name: "merge and replace with all of a resource",
			config: ign(`,"config":{"merge":[{"source":"GZCONFIG","compression":"gzip","verification":{"hash":"CONFIGSUM"}}]}`,
				`"storage":{}`),
		},
		{
			name: "replace with all of a resource",
			config: ign(`,"config":{"replace":{"source":"HTTP/gzip-config","compression":"gzip",
				"verification":{"hash":"CONFIGSUM"},"httpHeaders":[{"name":"X-Test","value":"a"}]}}`, `"storage":{}`),
		},
	}
	for i := range scenarios {
		scenarios[i].firstBoot = true
	}
	return scenarios
}
