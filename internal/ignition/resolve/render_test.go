// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// A complete config is unchanged, byte for byte.
func TestCompleteConfigIsUnchanged(t *testing.T) {
	raw := " " + configWith(caSetting(resourceAt(dataResource(string(caOf(t))))),
		fileEntry("/a", resourceAt(dataResource("a"))), `{"path":"/b"}`) + "\n"
	d := resolveComplete(t, raw, Options{})
	if string(d.Raw) != raw || d.Version != "3.4.0" {
		t.Errorf("%s: %s", d, d.Raw)
	}
	if diff := cmp.Diff(map[string]string{"/a": "a"}, contentsOf(t, d)); diff != "" {
		t.Error(diff)
	}
}

func caOf(t *testing.T) []byte {
	t.Helper()
	return startTLSServer(t, nil).ca
}

// Configs are merged in order, each with the configs that it merges itself, and the later one
// takes precedence. Lists with keys are merged by key, and contents to append are joined.
func TestMergeOrder(t *testing.T) {
	added := func(path, content string) string {
		return fmt.Sprintf(`{"path":%q,"append":[%s]}`, path, resourceAt(dataResource(content)))
	}
	var s *testServer
	s = startServer(t, map[string]http.HandlerFunc{
		"/one": func(w http.ResponseWriter, r *http.Request) {
			respondWith(configWith(mergeSetting(resourceAt(s.URL+"/deep")), fileEntry("/one", resourceAt(dataResource("one"))),
				fileEntry("/all", resourceAt(dataResource("one"))), added("/more", "one\n")))(w, r)
		},
		"/deep": respondWith(configWith("", fileEntry("/deep", resourceAt(dataResource("deep"))),
			fileEntry("/one", resourceAt(dataResource("deep"))), added("/more", "deep\n"))),
		"/two": respondWith(configWith("", fileEntry("/all", resourceAt(dataResource("two"))), added("/more", "two\n"))),
	})
	d := resolveComplete(t, configWith(mergeSetting(resourceAt(s.URL+"/one"), resourceAt(s.URL+"/two")),
		fileEntry("/root", resourceAt(dataResource("root"))), fileEntry("/all", resourceAt(dataResource("root"))),
		added("/more", "root\n")), Options{})
	want := map[string]string{
		"/root":   "root",
		"/one":    "deep",
		"/deep":   "deep",
		"/all":    "two",
		"/more +": "root\none\ndeep\ntwo\n",
	}
	if diff := cmp.Diff(want, contentsOf(t, d)); diff != "" {
		t.Error(diff)
	}
	if s.requestedPaths() != "/one /deep /two" {
		t.Errorf("asked for %s", s.requestedPaths())
	}
	if len(d.Config.Ignition.Config.Merge) > 0 {
		t.Error("the document still refers to others")
	}
}

// A replacement replaces the complete config, whose other references are not fetched.
func TestReplacementReplacesConfig(t *testing.T) {
	var s *testServer
	s = startServer(t, map[string]http.HandlerFunc{
		"/new": respondWith(configWith("", fileEntry("/new", resourceAt(dataResource("new"))))),
		"/merged": func(w http.ResponseWriter, r *http.Request) {
			respondWith(configWith(replaceSetting(resourceAt(s.URL+"/new")),
				fileEntry("/gone", resourceAt(dataResource("gone")))))(w, r)
		},
	})
	void := `"config":{"merge":[` + resourceAt(s.URL+"/never") + `],"replace":` + resourceAt(s.URL+"/new") + `}`
	d := resolveComplete(t, configWith(void, fileEntry("/old", resourceAt("s3://bucket/old"))), Options{})
	if diff := cmp.Diff(map[string]string{"/new": "new"}, contentsOf(t, d)); diff != "" {
		t.Error(diff)
	}
	d = resolveComplete(t, configWith(mergeSetting(resourceAt(s.URL+"/merged")),
		fileEntry("/root", resourceAt(dataResource("root")))), Options{})
	if diff := cmp.Diff(map[string]string{"/root": "root", "/new": "new"}, contentsOf(t, d)); diff != "" {
		t.Errorf("inside a merged config: %s", diff)
	}
	if s.requestedPaths() != "/new /merged /new" {
		t.Errorf("asked for %s", s.requestedPaths())
	}
}

// Nested configs can be data URLs, decoded and verified as any resource.
func TestNestedConfigsInDataURLs(t *testing.T) {
	inner := configWith("", fileEntry("/a", resourceAt(dataResource("a"))))
	d := resolveComplete(t, configWith(mergeSetting(resourceAt(dataResource(gzipData(t, inner)), gzipCompression,
		hash512(inner)))), Options{Offline: true})
	if diff := cmp.Diff(map[string]string{"/a": "a"}, contentsOf(t, d)); diff != "" {
		t.Error(diff)
	}
	resolveError(t, configWith(mergeSetting(resourceAt(dataResource(inner), hash256("other")))), Options{}, report.Usage,
		"merged config 1: verification failed: the sha256 is", ", expected ")
}

// Ignition applies special mode bits from spec 3.6 on, per document.
func TestModeBitsOfMixedSpecs(t *testing.T) {
	older := `{"ignition":{"version":"3.5.0"},"storage":{"files":[{"path":"/old","mode":2541}]}}`
	newer := `{"ignition":{"version":"3.6.0","config":{"merge":[` + resourceAt(dataResource(older)) +
		`]}},"storage":{"files":[{"path":"/new","mode":2541}]}}`
	d := resolveComplete(t, newer, Options{})
	got := map[string]int{}
	for _, file := range d.Config.Storage.Files {
		got[file.Path] = *file.Mode
	}
	if diff := cmp.Diff(map[string]int{"/old": 0o755, "/new": 0o4755}, got); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(fmt.Sprint(d.Warnings), "merged config 1 at a data URL: warning") {
		t.Errorf("warnings %q", d.Warnings)
	}
}

func TestInvalidConfigsAreRejected(t *testing.T) {
	var s *testServer
	s = startServer(t, map[string]http.HandlerFunc{
		"/self": func(w http.ResponseWriter, r *http.Request) {
			respondWith(configWith(mergeSetting(resourceAt(s.URL+"/self"))))(w, r)
		},
		"/ping": func(w http.ResponseWriter, r *http.Request) {
			respondWith(configWith(replaceSetting(resourceAt(s.URL+"/pong"))))(w, r)
		},
		"/pong": func(w http.ResponseWriter, r *http.Request) {
			respondWith(configWith(replaceSetting(resourceAt(s.URL+"/ping"))))(w, r)
		},
		"/empty": respondWith(""),
		"/old":   respondWith(`{"ignition":{"version":"2.2.0"}}`),
		"/bad":   respondWith(configWith("", fileEntry("relative", resourceAt(dataResource("a"))))),
	})
	unit := `{"ignition":{"version":"3.4.0"},"systemd":{"units":[{"name":"a.service","contents":"[Unit]\n"}]}}`
	many := make([]string, maxConfigs+1)
	for i := range many {
		many[i] = resourceAt(dataResource(configWith("", fileEntry(fmt.Sprintf("/%d", i), resourceAt(dataResource("a"))))))
	}
	tests := []struct{ name, raw, want string }{
		{"leads to itself", configWith(mergeSetting(resourceAt(s.URL + "/self"))), "more than 64 other configs"},
		{"in a circle", configWith(mergeSetting(resourceAt(s.URL + "/ping"))), "more than 64 other configs"},
		{"too many", configWith(mergeSetting(many...)), "more than 64 other configs"},
		{
			"empty nested", configWith(mergeSetting(resourceAt(s.URL + "/empty"))),
			"merged config 1 at " + s.URL + "/empty: the config is empty",
		},
		{"replaced by nothing", configWith(replaceSetting(resourceAt(""))), "replacement config at : the config is empty"},
		{"old nested", configWith(mergeSetting(resourceAt(s.URL + "/old"))), `version=3.2.0`},
		{
			"bad nested", configWith(mergeSetting(resourceAt(s.URL + "/bad"))),
			"/bad: not a valid Ignition config: at $.storage.files.0.path, line 1 col",
		},
		{
			"bad together", configWith(mergeSetting(resourceAt(dataResource(unit))),
				fileEntry("/etc/systemd/system/a.service", resourceAt(dataResource("a")))),
			"$.storage.files.0.path: path conflicts with systemd unit or dropin (/etc/systemd/system/a.service)",
		},
		{
			"bad CA", configWith(caSetting(resourceAt(dataResource("no CA")))),
			"certificate authority 1 at a data URL: no PEM certificate found",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { resolveError(t, test.raw, Options{}, report.Usage, test.want) })
	}
}

// All unsupported references are reported at once, before any request.
func TestUnsupportedSchemesAreReportedTogether(t *testing.T) {
	s := startServer(t, nil)
	raw := configWith(mergeSetting(resourceAt(s.URL+"/asked"), resourceAt("tftp://boot/base.ign?"+canary)),
		fileEntry("/s3", resourceAt("s3://bucket/key?versionId="+canary)), fileEntry("/gs", resourceAt("gs://bucket/key")),
		fileEntry("/arn", resourceAt("arn:aws:s3:::bucket/key")), fileEntry("/nohost", resourceAt("http:///path")))
	resolveError(t, raw, Options{}, report.Usage,
		"merged config 2 has the unsupported scheme tftp in tftp://boot/base.ign (supported: data, http and https)",
		"file /s3 has the unsupported scheme s3 in s3://bucket/key",
		"file /gs has the unsupported scheme gs in gs://bucket/key",
		"file /arn has the unsupported scheme arn in arn:aws:s3:::bucket/key",
		"file /nohost has a URL without a host: http:///path")
	resolveError(t, configWith("", fileEntry("/a", resourceAt("ftp://me:"+canary+"@host/a"))), Options{}, report.Usage,
		`$.storage.files.0.contents.source`, `invalid url scheme (supported: data, http and https)`)
	if s.requestedPaths() != "" {
		t.Errorf("asked for %s", s.requestedPaths())
	}
}

// Offline, an error lists each resource that needs the network after the merge.
func TestOfflineReportsRemoteResources(t *testing.T) {
	s := startServer(t, nil)
	secret := strings.Replace(s.URL, "//", "//me:"+canary+"@", 1)
	inner := configWith(mergeSetting(resourceAt(secret+"/deep")), fileEntry("/mended", resourceAt(dataResource("mended"))),
		fileEntry("/child", resourceAt(secret+"/child?sig="+canary)))
	raw := configWith(mergeSetting(resourceAt(dataResource(inner)), resourceAt(secret+"/second"))+","+
		caSetting(resourceAt(secret+"/ca")), fileEntry("/mended", resourceAt(secret+"/mended")))
	message := resolveError(t, raw, Options{Offline: true}, report.Usage,
		"merged config 1 at "+s.URL+"/deep;", "merged config 2 at "+s.URL+"/second",
		"certificate authority 1 at "+s.URL+"/ca", "file /child at "+s.URL+"/child")
	if strings.Contains(message, "/mended") {
		t.Errorf("what is mended by a merged config is named: %s", message)
	}
	resolveError(t, configWith(replaceSetting(resourceAt(s.URL+"/new")), fileEntry("/old", resourceAt(s.URL+"/old"))),
		Options{Offline: true}, report.Usage, "replacement config at "+s.URL+"/new")
	if s.requestedPaths() != "" {
		t.Errorf("asked for %s", s.requestedPaths())
	}
	resolveComplete(t, configWith(mergeSetting(resourceAt(dataResource(configWith("",
		fileEntry("/a", resourceAt(dataResource("a"))))))), fileEntry("/a", resourceAt(s.URL+"/a"))), Options{Offline: true})
}
