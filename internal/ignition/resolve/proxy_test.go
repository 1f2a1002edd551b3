// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// The config's proxy is used for http and https, and the proxy of the environment is not.
func TestConfigProxyIsUsed(t *testing.T) {
	s := startTLSServer(t, map[string]http.HandlerFunc{"/a": respondWith("by tunnel")}, "web.example.com")
	p := newForwardProxy(t, s.Listener.Addr().String(), http.StatusOK)
	trap := newForwardProxy(t, "", http.StatusTeapot)
	for _, name := range []string{"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, trap.URL)
	}
	proxy := func(url string, no ...string) string {
		direct := ""
		if len(no) > 0 {
			direct = fmt.Sprintf(`,"noProxy":[%q]`, no[0])
		}
		return fmt.Sprintf(`"proxy":{"httpProxy":%q,"httpsProxy":%q%s},`, url, url,
			direct) + caSetting(resourceAt(dataResource(string(s.ca))))
	}
	through := strings.Replace(p.URL, "//", "//me:"+canary+"@", 1)
	secure, clear := fileEntry("/s", resourceAt("https://web.example.com/a")),
		fileEntry("/c", resourceAt("http://files.example.com/c"))
	d := resolveComplete(t, configWith(proxy(through), secure, clear), quickOptions())
	if contentsOf(t, d)["/s"] != "by tunnel" || contentsOf(t, d)["/c"] != "by proxy" {
		t.Errorf("contents %v", contentsOf(t, d))
	}
	basic := " Basic bWU6aHVudGVyMg=="
	if want := "CONNECT web.example.com:443" + basic + "; GET http://files.example.com/c" + basic; p.recorded() != want {
		t.Errorf("the proxy was asked for %q, want %q", p.recorded(), want)
	}
	// Without the proxy the name does not resolve.
	resolveError(t, configWith(proxy(through, ".invalid"), fileEntry("/a", resourceAt("https://web.invalid/a"))),
		quickOptions(), report.Failed, "web.invalid")
	for _, request := range s.recorded() {
		if request.Host != "web.example.com" {
			t.Errorf("the server was asked as %s", request.Host)
		}
	}
	refusing, broken := newForwardProxy(t, "", http.StatusForbidden), newForwardProxy(t, "", http.StatusBadGateway)
	resolveError(t, configWith(proxy(refusing.URL), secure), quickOptions(), report.Refused,
		"refused to connect to web.example.com:443: HTTP 403 Forbidden")
	resolveError(t, configWith(proxy(refusing.URL), clear), quickOptions(), report.CredentialRefused, "HTTP 403")
	err := resolveUntilRetried(t, func(timeout time.Duration) (string, Options) {
		return configWith(proxy(broken.URL), secure), Options{RetryTimeout: timeout, initialBackoff: timeout / 4}
	})
	checkResolveError(t, err, report.Refused, "502 Bad Gateway")
	resolveError(t, configWith(proxy("http://127.0.0.1:1"), secure), quickOptions(), report.Failed,
		"the proxy http://127.0.0.1:1 is unreachable: connection refused")
	if trap.recorded() != "" {
		t.Errorf("the environment's proxy was asked for %s", trap.recorded())
	}
}
