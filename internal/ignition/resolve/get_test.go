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
func TestContentsFromElsewhere(t *testing.T) {
	big := strings.Repeat("hello, world\n", 1000)
	s := visit(t, map[string]http.HandlerFunc{
		"/plain": says("plain"), "/zipped": says(zip(t, big)), "/more": says("more\n"), "/none": fails(http.StatusNoContent), "/nothing": says(""),
	})
	d := resolved(t, config("",
		file("/plain", at(s.URL+"/plain", hash256("plain"))),
		file("/zipped", at(s.URL+"/zipped", gzipped, hash512(big))),
		file("/none", at(s.URL+"/none")), file("/nothing", at(s.URL+"/nothing")),
		`{"path":"/more","append":[`+at(s.URL+"/more", hash256("more\n"))+`,`+at(data("inline\n"))+`,`+at("")+`]}`,
		file("/empty", at("")), `{"path":"/keeps"}`), Options{})
	want := map[string]string{"/plain": "plain", "/zipped": big, "/none": "", "/nothing": "", "/empty": "", "/more +": "more\ninline\n"}
	if diff := cmp.Diff(want, contentsOf(t, d)); diff != "" {
		t.Error(diff)
	}
	if len(s.got()) != 5 || d.Config.Storage.Files[1].Contents.Verification.Hash == nil || d.Config.Storage.Files[1].Contents.Compression != nil {
		t.Errorf("%d requests: %s", len(s.got()), indent(t, d.Config.Storage.Files[1]))
	}
	// Only contents that were fetched by http without a hash cause a warning.
	if len(d.Warnings) != 2 || !strings.Contains(d.Warnings[0], "file /none at "+s.URL+"/none came unencrypted and without a verification: anybody on the way can change it") {
		t.Errorf("warnings %q", d.Warnings)
	}
}

func TestDamagedContents(t *testing.T) {
	s := visit(t, map[string]http.HandlerFunc{
		"/a": says(canary), "/cut": says(zip(t, "hello")[:20]), "/bomb": says(zip(t, strings.Repeat("0", 5000))), "/long": says(strings.Repeat("0", 1001)),
	})
	tests := []struct{ name, resource, want string }{
		{"hash", at(s.URL+"/a?"+canary, hash512("other")), "file /a at " + s.URL + "/a: its sha512 is "},
		{"not gzip", at(s.URL+"/a", gzipped), "file /a at " + s.URL + "/a: expanding gzip"},
		{"half a gzip", at(s.URL+"/cut", gzipped), "expanding gzip: unexpected EOF"},
		{"gzip bomb", at(s.URL+"/bomb", gzipped), "the contents together have more than 1000 bytes"},
		{"too long", at(s.URL + "/long"), "what it sends has more than 1000 bytes"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := quick()
			o.MaxBytes = 1000
			refused(t, config("", file("/a", test.resource)), o, report.Usage, test.want)
		})
	}
	if content, err := expand([]byte(zip(t, strings.Repeat("0", 5000))), 1000); err != nil || len(content) != 1001 {
		t.Errorf("a gzip bomb was expanded to %d bytes, %v", len(content), err)
	}
	o := quick()
	o.MaxBytes = 1000
	refused(t, config("", file("/a", at(data(strings.Repeat("a", 600)))), file("/b", at(data(strings.Repeat("b", 600))))), o, report.Usage, "file /b: the contents together have more than 1000 bytes")
}

// Headers of the config replace the default ones, and none is sent to the target of a redirect.
func TestHeaders(t *testing.T) {
	second := visit(t, map[string]http.HandlerFunc{"/there": says("there")})
	first := visit(t, map[string]http.HandlerFunc{"/here": leadsTo(second.URL + "/there"), "/plain": says("plain")})
	headers := `"httpHeaders":[{"name":"authorization","value":"Bearer ` + canary + `"},{"name":"Accept","value":"text/plain"}]`
	secret := strings.Replace(first.URL, "//", "//me:"+canary+"@", 1)
	d := resolved(t, config("", file("/a", at(first.URL+"/here", headers)), file("/b", at(secret+"/plain?sig="+canary))), Options{})
	if string(d.Contents["/a"]) != "there" || strings.Contains(string(d.Raw), canary) {
		t.Errorf("content %q of %s", d.Contents["/a"], d.Raw)
	}
	seen := func(r *http.Request) map[string]string {
		list := map[string]string{}
		for name, values := range r.Header {
			list[name] = strings.Join(values, "|")
		}
		return list
	}
	want := []map[string]string{
		{"Authorization": "Bearer " + canary, "Accept": "text/plain", "Accept-Encoding": "identity", "User-Agent": fetch.UserAgent},
		{"Authorization": "Basic bWU6aHVudGVyMg==", "Accept": fetch.Accept, "Accept-Encoding": "identity", "User-Agent": fetch.UserAgent},
		{"Accept": fetch.Accept, "Accept-Encoding": "identity", "User-Agent": fetch.UserAgent},
	}
	got := []map[string]string{seen(first.got()[0]), seen(first.got()[1]), seen(second.got()[0])}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// In a merge, a header without a value removes the parent's header. If there is none to remove,
// Ignition fails, too.
func TestHeaderTakenAway(t *testing.T) {
	s := visit(t, map[string]http.HandlerFunc{"/a": says("a")})
	entry := func(value string) string {
		return file("/a", at(s.URL+"/a", `"httpHeaders":[{"name":"X-Key"`+value+`}]`))
	}
	resolved(t, config(merge(at(data(config("", entry(""))))), entry(`,"value":"`+canary+`"`)), Options{})
	if _, sent := s.got()[0].Header["X-Key"]; sent {
		t.Error("the header was sent")
	}
	refused(t, config("", entry("")), Options{}, report.Usage, `file /a at `+s.URL+`/a: its header "X-Key" has no value`)
}

func TestRedirects(t *testing.T) {
	s := visit(t, map[string]http.HandlerFunc{
		"/circle": leadsTo("/circle"), "/away": leadsTo("file:///etc/passwd"), "/nowhere": fails(http.StatusFound), "/relative": leadsTo("a"), "/a": says("a"),
		"/broken": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://%zz"+canary)
			w.WriteHeader(http.StatusFound)
		},
	})
	if d := resolved(t, config("", file("/a", at(s.URL+"/relative"))), Options{}); string(d.Contents["/a"]) != "a" {
		t.Errorf("content %q", d.Contents["/a"])
	}
	for path, want := range map[string]string{
		"/circle": "it redirects more than 10 times", "/away": "it redirects to file:///etc/passwd, which is neither http nor https",
		"/broken": "it redirects to what is no URL", "/nowhere": "it answers HTTP 302 Found",
	} {
		refused(t, config("", file("/a", at(s.URL+path))), quick(), report.Usage, want)
	}
	// A redirect from https to http makes the response unencrypted.
	secure := visitTLS(t, map[string]http.HandlerFunc{"/a": leadsTo(s.URL + "/a")})
	d := resolved(t, config(trusting(at(data(string(secure.ca)))), file("/a", at(secure.URL+"/a"))), Options{})
	if len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], "came unencrypted") {
		t.Errorf("warnings %q", d.Warnings)
	}
}
