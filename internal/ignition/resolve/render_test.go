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
func TestOwnTextIsKept(t *testing.T) {
	raw := " " + config(trusting(at(data(string(caOf(t))))), file("/a", at(data("a"))), `{"path":"/b"}`) + "\n"
	d := resolved(t, raw, Options{})
	if string(d.Raw) != raw || d.Version != "3.4.0" {
		t.Errorf("%s: %s", d, d.Raw)
	}
	if diff := cmp.Diff(map[string]string{"/a": "a"}, contentsOf(t, d)); diff != "" {
		t.Error(diff)
	}
}

func caOf(t *testing.T) []byte {
	t.Helper()
	return visitTLS(t, nil).ca
}

// Configs are merged in order, each with the configs that it merges itself, and the later one
// takes precedence. Lists with keys are merged by key, and contents to append are joined.
func TestMerge(t *testing.T) {
	added := func(path, content string) string {
		return fmt.Sprintf(`{"path":%q,"append":[%s]}`, path, at(data(content)))
	}
	var s *site
	s = visit(t, map[string]http.HandlerFunc{
		"/one": func(w http.ResponseWriter, r *http.Request) {
			says(config(merge(at(s.URL+"/deep")), file("/one", at(data("one"))), file("/all", at(data("one"))), added("/more", "one\n")))(w, r)
		},
		"/deep": says(config("", file("/deep", at(data("deep"))), file("/one", at(data("deep"))), added("/more", "deep\n"))),
		"/two":  says(config("", file("/all", at(data("two"))), added("/more", "two\n"))),
	})
	d := resolved(t, config(merge(at(s.URL+"/one"), at(s.URL+"/two")), file("/root", at(data("root"))), file("/all", at(data("root"))), added("/more", "root\n")), Options{})
	want := map[string]string{"/root": "root", "/one": "deep", "/deep": "deep", "/all": "two", "/more +": "root\none\ndeep\ntwo\n"}
	if diff := cmp.Diff(want, contentsOf(t, d)); diff != "" {
		t.Error(diff)
	}
	if s.asked() != "/one /deep /two" {
		t.Errorf("asked for %s", s.asked())
	}
	if len(d.Config.Ignition.Config.Merge) > 0 {
		t.Error("the document still refers to others")
	}
}

// A replacement replaces the complete config, whose other references are not fetched.
func TestReplace(t *testing.T) {
	var s *site
	s = visit(t, map[string]http.HandlerFunc{
		"/new": says(config("", file("/new", at(data("new"))))),
		"/merged": func(w http.ResponseWriter, r *http.Request) {
			says(config(replace(at(s.URL+"/new")), file("/gone", at(data("gone")))))(w, r)
		},
	})
	void := `"config":{"merge":[` + at(s.URL+"/never") + `],"replace":` + at(s.URL+"/new") + `}`
	d := resolved(t, config(void, file("/old", at("s3://bucket/old"))), Options{})
	if diff := cmp.Diff(map[string]string{"/new": "new"}, contentsOf(t, d)); diff != "" {
		t.Error(diff)
	}
	d = resolved(t, config(merge(at(s.URL+"/merged")), file("/root", at(data("root")))), Options{})
	if diff := cmp.Diff(map[string]string{"/root": "root", "/new": "new"}, contentsOf(t, d)); diff != "" {
		t.Errorf("inside a merged config: %s", diff)
	}
	if s.asked() != "/new /merged /new" {
		t.Errorf("asked for %s", s.asked())
	}
}

// Nested configs can be data URLs, decoded and verified as any resource.
func TestNestedInDataURL(t *testing.T) {
	inner := config("", file("/a", at(data("a"))))
	d := resolved(t, config(merge(at(data(zip(t, inner)), gzipped, hash512(inner)))), Options{Offline: true})
	if diff := cmp.Diff(map[string]string{"/a": "a"}, contentsOf(t, d)); diff != "" {
		t.Error(diff)
	}
	refused(t, config(merge(at(data(inner), hash256("other")))), Options{}, report.Usage, "merged config 1: its sha256 is", "changed or damaged")
}

// Ignition applies special mode bits from spec 3.6 on, per document.
func TestModeBitsOfMixedSpecs(t *testing.T) {
	older := `{"ignition":{"version":"3.5.0"},"storage":{"files":[{"path":"/old","mode":2541}]}}`
	newer := `{"ignition":{"version":"3.6.0","config":{"merge":[` + at(data(older)) + `]}},"storage":{"files":[{"path":"/new","mode":2541}]}}`
	d := resolved(t, newer, Options{})
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

func TestRefusedConfigs(t *testing.T) {
	var s *site
	s = visit(t, map[string]http.HandlerFunc{
		"/self":  func(w http.ResponseWriter, r *http.Request) { says(config(merge(at(s.URL+"/self"))))(w, r) },
		"/ping":  func(w http.ResponseWriter, r *http.Request) { says(config(replace(at(s.URL+"/pong"))))(w, r) },
		"/pong":  func(w http.ResponseWriter, r *http.Request) { says(config(replace(at(s.URL+"/ping"))))(w, r) },
		"/empty": says(""),
		"/old":   says(`{"ignition":{"version":"2.2.0"}}`),
		"/bad":   says(config("", file("relative", at(data("a"))))),
	})
	unit := `{"ignition":{"version":"3.4.0"},"systemd":{"units":[{"name":"a.service","contents":"[Unit]\n"}]}}`
	deep := config("")
	for range maxDepth + 1 {
		deep = config(merge(at(data(deep))))
	}
	many := make([]string, maxConfigs+1)
	for i := range many {
		many[i] = at(data(config("", file(fmt.Sprintf("/%d", i), at(data("a"))))))
	}
	tests := []struct{ name, raw, want string }{
		{"leads to itself", config(merge(at(s.URL + "/self"))), "more than 16 deep"},
		{"in a circle", config(merge(at(s.URL + "/ping"))), "more than 16 deep"},
		{"too deep", deep, "more than 16 deep"},
		{"too many", config(merge(many...)), "more than 64 others"},
		{"empty nested", config(merge(at(s.URL + "/empty"))), "merged config 1 at " + s.URL + "/empty: it is empty"},
		{"replaced by nothing", config(replace(at(""))), "the config that replaces it at : it is empty"},
		{"old nested", config(merge(at(s.URL + "/old"))), `version=3.2.0`},
		{"bad nested", config(merge(at(s.URL + "/bad"))), "/bad: it is not a valid Ignition config: at $.storage.files.0.path, line 1 col"},
		{"bad together", config(merge(at(data(unit))), file("/etc/systemd/system/a.service", at(data("a")))), "$.storage.files.0.path: path conflicts with systemd unit or dropin (/etc/systemd/system/a.service)"},
		{"bad CA", config(trusting(at(data("no CA")))), "certificate authority 1 at a data URL: it holds no PEM certificate"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { refused(t, test.raw, Options{}, report.Usage, test.want) })
	}
}

// All unsupported references are reported at once, before any request.
func TestUnsupportedSchemes(t *testing.T) {
	s := visit(t, nil)
	raw := config(merge(at(s.URL+"/asked"), at("tftp://boot/base.ign?"+canary)),
		file("/s3", at("s3://bucket/key?versionId="+canary)), file("/gs", at("gs://bucket/key")),
		file("/arn", at("arn:aws:s3:::bucket/key")), file("/nohost", at("http:///path")))
	refused(t, raw, Options{}, report.Usage,
		"merged config 2 is to come by tftp, from tftp://boot/base.ign; possible are data, http and https",
		"file /s3 is to come by s3, from s3://bucket/key;", "file /gs is to come by gs, from gs://bucket/key",
		"file /arn is to come by arn, from arn:aws:s3:::bucket/key", "file /nohost is at http:///path, which names no host")
	refused(t, config("", file("/a", at("ftp://me:"+canary+"@host/a"))), Options{}, report.Usage, `$.storage.files.0.contents.source`, `invalid url scheme (possible are data, http and https)`)
	if s.asked() != "" {
		t.Errorf("asked for %s", s.asked())
	}
}

// Offline, an error lists each resource that needs the network after the merge.
func TestOffline(t *testing.T) {
	s := visit(t, nil)
	secret := strings.Replace(s.URL, "//", "//me:"+canary+"@", 1)
	inner := config(merge(at(secret+"/deep")), file("/mended", at(data("mended"))), file("/child", at(secret+"/child?sig="+canary)))
	raw := config(merge(at(data(inner)), at(secret+"/second"))+","+trusting(at(secret+"/ca")), file("/mended", at(secret+"/mended")))
	said := refused(t, raw, Options{Offline: true}, report.Usage,
		"merged config 1 at "+s.URL+"/deep;", "merged config 2 at "+s.URL+"/second", "certificate authority 1 at "+s.URL+"/ca", "file /child at "+s.URL+"/child")
	if strings.Contains(said, "/mended") {
		t.Errorf("what is mended by a merged config is named: %s", said)
	}
	refused(t, config(replace(at(s.URL+"/new")), file("/old", at(s.URL+"/old"))), Options{Offline: true}, report.Usage, "the config that replaces it at "+s.URL+"/new")
	if s.asked() != "" {
		t.Errorf("asked for %s", s.asked())
	}
	resolved(t, config(merge(at(data(config("", file("/a", at(data("a"))))))), file("/a", at(s.URL+"/a"))), Options{Offline: true})
}
