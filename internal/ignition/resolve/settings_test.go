package resolve

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Which settings count for what: what is said here was read off the requests
// of Ignition 2.27.0 for the same configs. A config that is merged by a merged
// one does not see the first one's proxy, and what comes after it sees what
// was there last; contents are fetched with the final config's.
func TestSettingsAsIgnition(t *testing.T) {
	const host = "http://web.example.com"
	others := func(paths ...string) string {
		var list []string
		for _, path := range paths {
			list = append(list, at(host+path))
		}
		return merge(list...)
	}
	content, proxy := file("/file", at(host+"/file")), `"proxy":{"httpProxy":"http://proxy.example.com"},`
	tests := []struct {
		name, root, want string
		pages            map[string]string
	}{
		{
			"merged by merged ones", config(proxy+others("/1", "/2"), content),
			"/1 by proxy, /11 by proxy, /111, /12, /2, /21 by proxy, /file by proxy",
			map[string]string{"/1": config(others("/11", "/12")), "/11": config(others("/111")), "/2": config(others("/21"))},
		},
		{
			"replaced", config(proxy + replace(at(host+"/new"))),
			"/new by proxy, /1, /11 by proxy, /111 by proxy, /file by proxy",
			map[string]string{"/new": config(others("/1"), content), "/1": config(proxy + others("/11")), "/11": config(others("/111"))},
		},
		{
			"a merged one replaced", config(proxy + others("/1", "/2")),
			"/1 by proxy, /new by proxy, /11, /2, /file by proxy",
			map[string]string{"/1": config(replace(at(host + "/new"))), "/new": config(others("/11"), content)},
		},
		{
			"a merged one's proxy", config(others("/1", "/2"), content),
			"/1, /11 by proxy, /2 by proxy, /file by proxy",
			map[string]string{"/1": config(proxy + others("/11"))},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var mutex sync.Mutex
			var asked []string
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mutex.Lock()
				defer mutex.Unlock()
				way := ""
				if r.URL.IsAbs() { // as a proxy is asked
					way = " by proxy"
				}
				asked = append(asked, r.URL.Path+way)
				page, found := test.pages[r.URL.Path]
				if !found {
					page = config("")
				}
				_, _ = fmt.Fprint(w, page)
			}))
			defer s.Close()
			o := quick()
			o.dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, network, s.Listener.Addr().String())
			}
			resolved(t, test.root, o)
			mutex.Lock()
			defer mutex.Unlock()
			if diff := cmp.Diff(test.want, strings.Join(asked, ", ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}
