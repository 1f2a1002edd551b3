package dnf

import (
	"slices"
	"strings"
)

// ProxyVariables names proxies as curl, by which dnf downloads, reads them.
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

// ProxyOf gives the variables that dnf needs beside the environment: otherwise,
// where the environment names no proxy at all; HTTP_PROXY in small letters,
// which is the only way that curl reads it.
func ProxyOf(lookup func(string) (string, bool), otherwise []string) []string {
	given := func(name string) string { value, _ := lookup(name); return value }
	named := slices.ContainsFunc([]string{"http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"},
		func(name string) bool { return given(name) != "" })
	if !named {
		return otherwise
	}
	if upper := given("HTTP_PROXY"); upper != "" && given("http_proxy") == "" {
		return []string{"http_proxy=" + upper}
	}
	return nil
}
