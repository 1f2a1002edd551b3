// SPDX-License-Identifier: Apache-2.0

package dnf

import (
	"slices"
	"strings"
)

// ProxyVariables returns the proxies as environment variables of curl, which
// dnf uses for downloads.
func ProxyVariables(http, https string, no []string) []string {
	var list []string
	if http != "" {
		list = append(list, "http_proxy="+http)
	}
	if https != "" {
		list = append(list, "https_proxy="+https)
	}
	if len(list) > 0 && len(no) > 0 {
		list = append(list, "no_proxy="+strings.Join(no, ","))
	}
	return list
}

// ExtraProxyVariables returns the variables that a program needs in addition to the environment:
// otherwise, if the environment sets no proxy at all; or HTTP_PROXY in lower
// case, because curl only reads that.
func ExtraProxyVariables(lookup func(string) (string, bool), otherwise []string) []string {
	given := func(name string) string { value, _ := lookup(name); return value }
	names := []string{"http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"}
	named := slices.ContainsFunc(names, func(name string) bool { return given(name) != "" })
	if !named {
		return otherwise
	}
	if upper := given("HTTP_PROXY"); upper != "" && given("http_proxy") == "" {
		return []string{"http_proxy=" + upper}
	}
	return nil
}
