// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/fetch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Fetched contents are part of the document, decoded, with their hashes.
func TestRemoteContentsAreInlined(t *testing.T) {
	big := strings.Repeat("hello, world\n", 1000)
	s := startServer(t, map[string]http.HandlerFunc{
		"/plain": respondWith("plain"), "/zipped": respondWith(gzipData(t, big)), "/more": respondWith("more\n"),
		"/none": respondWithStatus(http.StatusNoContent), "/nothing": respondWith(""),
	})
	d := resolveComplete(t, configWith("",
		fileEntry("/plain", resourceAt(s.URL+"/plain", hash256("plain"))),
		fileEntry("/zipped", resourceAt(s.URL+"/zipped", gzipCompression, hash512(big))),
		fileEntry("/none", resourceAt(s.URL+"/none")), fileEntry("/nothing", resourceAt(s.URL+"/nothing")),
		`{"path":"/more","append":[`+resourceAt(s.URL+"/more", hash256("more\n"))+`,`+resourceAt(dataResource("inline\n"))+
			`,`+resourceAt("")+`]}`,
		fileEntry("/empty", resourceAt("")), `{"path":"/keeps"}`), Options{})
	want := map[string]string{
		"/plain":   "plain",
		"/zipped":  big,
		"/none":    "",
		"/nothing": "",
		"/empty":   "",
		"/more +":  "more\ninline\n",
	}
	if diff := cmp.Diff(want, contentsOf(t, d)); diff != "" {
		t.Error(diff)
	}
	if len(s.recorded()) != 5 || d.Config.Storage.Files[1].Contents.Verification.Hash == nil ||
		d.Config.Storage.Files[1].Contents.Compression != nil {
		t.Errorf("%d requests: %s", len(s.recorded()), indent(t, d.Config.Storage.Files[1]))
	}
	// Only contents that were fetched by http without a hash cause a warning.
	if len(d.Warnings) != 2 || !strings.Contains(d.Warnings[0],
		"file /none at "+s.URL+
			"/none was transferred without encryption and without a verification hash: it could have been modified in transit") {
		t.Errorf("warnings %q", d.Warnings)
	}
}

func TestDamagedContentsAreRejected(t *testing.T) {
	s := startServer(t, map[string]http.HandlerFunc{
		"/a": respondWith(canary), "/cut": respondWith(gzipData(t, "hello")[:20]),
		"/bomb": respondWith(gzipData(t, strings.Repeat("0", 5000))), "/long": respondWith(strings.Repeat("0", 1001)),
	})
	tests := []struct{ name, resource, want string }{
		{
			"hash", resourceAt(s.URL+"/a?"+canary, hash512("other")),
			"file /a at " + s.URL + "/a: verification failed: the sha512 is ",
		},
		{"not gzip", resourceAt(s.URL+"/a", gzipCompression), "file /a at " + s.URL + "/a: decompressing the gzip content"},
		{"half a gzip", resourceAt(s.URL+"/cut", gzipCompression), "decompressing the gzip content: unexpected EOF"},
		{"gzip bomb", resourceAt(s.URL+"/bomb", gzipCompression), "the total size of all contents exceeds 1000 bytes"},
		{"too long", resourceAt(s.URL + "/long"), "the response is larger than 1000 bytes"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := quickOptions()
			o.maxBytes = 1000
			resolveError(t, configWith("", fileEntry("/a", test.resource)), o, report.Usage, test.want)
		})
	}
	if content, err := gunzip([]byte(gzipData(t, strings.Repeat("0", 5000))), 1000); err != nil || len(content) != 1001 {
		t.Errorf("a gzip bomb was expanded to %d bytes, %v", len(content), err)
	}
	o := quickOptions()
	o.maxBytes = 1000
	resolveError(t, configWith("", fileEntry("/a", resourceAt(dataResource(strings.Repeat("a", 600)))),
		fileEntry("/b", resourceAt(dataResource(strings.Repeat("b", 600))))), o, report.Usage,
		"file /b: the total size of all contents exceeds 1000 bytes")
}

// Headers of the config replace the default ones, and none is sent to the target of a redirect.
func TestHeadersAreNotForwarded(t *testing.T) {
	second := startServer(t, map[string]http.HandlerFunc{"/there": respondWith("there")})
	first := startServer(t, map[string]http.HandlerFunc{
		"/here":  redirectTo(second.URL + "/there"),
		"/plain": respondWith("plain"),
	})
	headers := `"httpHeaders":[{"name":"authorization","value":"Bearer ` + canary +
		`"},{"name":"Accept","value":"text/plain"}]`
	secret := strings.Replace(first.URL, "//", "//me:"+canary+"@", 1)
	d := resolveComplete(t, configWith("", fileEntry("/a", resourceAt(first.URL+"/here", headers)),
		fileEntry("/b", resourceAt(secret+"/plain?sig="+canary))), Options{})
	if contentsOf(t, d)["/a"] != "there" || strings.Contains(string(d.Raw), canary) {
		t.Errorf("content %q of %s", contentsOf(t, d)["/a"], d.Raw)
	}
	seen := func(r *http.Request) map[string]string {
		list := map[string]string{}
		for name, values := range r.Header {
			list[name] = strings.Join(values, "|")
		}
		return list
	}
	want := []map[string]string{
		{
			"Authorization":   "Bearer " + canary,
			"Accept":          "text/plain",
			"Accept-Encoding": "identity",
			"User-Agent":      fetch.UserAgent,
		},
		{
			"Authorization":   "Basic bWU6aHVudGVyMg==",
			"Accept":          fetch.Accept,
			"Accept-Encoding": "identity",
			"User-Agent":      fetch.UserAgent,
		},
		{"Accept": fetch.Accept, "Accept-Encoding": "identity", "User-Agent": fetch.UserAgent},
	}
	got := []map[string]string{seen(first.recorded()[0]), seen(first.recorded()[1]), seen(second.recorded()[0])}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// In a merge, a header without a value removes the parent's header. If there is none to remove,
// Ignition fails, too.
func TestHeaderWithoutValueRemovesParentHeader(t *testing.T) {
	s := startServer(t, map[string]http.HandlerFunc{"/a": respondWith("a")})
	entry := func(value string) string {
		return fileEntry("/a", resourceAt(s.URL+"/a", `"httpHeaders":[{"name":"X-Key"`+value+`}]`))
	}
	resolveComplete(t, configWith(mergeSetting(resourceAt(dataResource(configWith("", entry(""))))),
		entry(`,"value":"`+canary+`"`)), Options{})
	if _, sent := s.recorded()[0].Header["X-Key"]; sent {
		t.Error("the header was sent")
	}
	resolveError(t, configWith("", entry("")), Options{}, report.Usage,
		`file /a at `+s.URL+`/a: header "X-Key" has no value`)
}

func TestRedirects(t *testing.T) {
	s := startServer(t, map[string]http.HandlerFunc{
		"/circle": redirectTo("/circle"), "/away": redirectTo("file:///etc/passwd"),
		"/nowhere": respondWithStatus(http.StatusFound), "/relative": redirectTo("a"), "/a": respondWith("a"),
		"/broken": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://%zz"+canary)
			w.WriteHeader(http.StatusFound)
		},
	})
	if d := resolveComplete(t, configWith("", fileEntry("/a", resourceAt(s.URL+"/relative"))), Options{}); contentsOf(t,
		d)["/a"] != "a" {
		t.Errorf("content %q", contentsOf(t, d)["/a"])
	}
	for path, want := range map[string]string{
		"/circle": "the server redirects more than 10 times",
		"/away":   "the server redirects to file:///etc/passwd, which is neither HTTP nor HTTPS",
		"/broken": "the server redirects to an invalid URL", "/nowhere": "the server returns HTTP 302 Found",
	} {
		resolveError(t, configWith("", fileEntry("/a", resourceAt(s.URL+path))), quickOptions(), report.Usage, want)
	}
	// A redirect from https to http makes the response unencrypted.
	secure := startTLSServer(t, map[string]http.HandlerFunc{"/a": redirectTo(s.URL + "/a")})
	d := resolveComplete(t, configWith(caSetting(resourceAt(dataResource(string(secure.ca)))),
		fileEntry("/a", resourceAt(secure.URL+"/a"))), Options{})
	if len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], "was transferred without encryption") {
		t.Errorf("warnings %q", d.Warnings)
	}
}
