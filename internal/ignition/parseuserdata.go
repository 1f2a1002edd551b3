// SPDX-License-Identifier: Apache-2.0

package ignition

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/fetch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/resolve"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// ParseUserData parses the user data that HyperShift writes for a NodePool: an Ignition config that
// contains one config to merge with its request headers, CAs and a proxy. ParseUserData returns an
// error for other settings, because they would be lost.
func ParseUserData(content []byte) (*UserData, error) {
	parsed, err := resolve.Parse(content)
	var userData *UserData
	if err == nil {
		userData, err = userDataFromConfig(parsed.Config)
	}
	if err != nil {
		return nil, report.Fail(report.Usage, UserDataRemedy(), "reading the user data: %w", err)
	}
	return userData, nil
}

// userDataFromConfig returns the user data in a config, and an error if the config is not user data.
func userDataFromConfig(parsed types.Config) (userData *UserData, err error) {
	merge := parsed.Ignition.Config.Merge
	if extra := unexpectedParts(parsed); len(extra) > 0 {
		return nil, fmt.Errorf("the config is not user data: it also contains %s", strings.Join(extra, ", "))
	}
	if len(merge) == 0 {
		return nil, errors.New("the config is an Ignition config, but not user data: it names no ignition server")
	}
	if len(merge) != 1 {
		return nil, fmt.Errorf("the config merges %d configs; user data merges exactly one", len(merge))
	}
	userData = &UserData{Headers: http.Header{}}
	if userData.Source, err = mergeSource(merge[0]); err != nil {
		return nil, fmt.Errorf("reading the source of the merged config: %w", err)
	}
	for _, header := range merge[0].HTTPHeaders {
		if header.Value != nil {
			userData.Headers.Add(header.Name, *header.Value)
		}
	}
	if userData.CAs, err = parseCAs(parsed.Ignition.Security.TLS); err != nil {
		return nil, err
	}
	userData.Proxy = resolve.ProxyOf(parsed.Ignition.Proxy)
	return userData, nil
}

// unexpectedParts returns the names of the parts of a config that user data does not have.
func unexpectedParts(parsed types.Config) []string {
	var extra []string
	add := func(name string, part any) {
		if !reflect.ValueOf(part).IsZero() {
			extra = append(extra, name)
		}
	}
	add("storage", parsed.Storage)
	add("systemd units", parsed.Systemd)
	add("users or groups", parsed.Passwd)
	add("kernel arguments", parsed.KernelArguments)
	add("ignition.config.replace", parsed.Ignition.Config.Replace)
	add("ignition.timeouts", parsed.Ignition.Timeouts)
	for _, resource := range parsed.Ignition.Config.Merge {
		add("a verification of the merged config", resource.Verification)
		if resource.Compression != nil && *resource.Compression != "" {
			extra = append(extra, "a compressed merged config")
		}
	}
	return extra
}

func mergeSource(resource types.Resource) (*url.URL, error) {
	if resource.Source == nil {
		return nil, errors.New("the source is missing")
	}
	source, err := url.Parse(*resource.Source)
	if err != nil {
		return nil, errors.New("invalid URL")
	}
	return source, config.CheckPayloadURL(source)
}

func parseCAs(tls types.TLS) ([][]byte, error) {
	var cas [][]byte
	var unpacker resolve.Unpacker
	for i, resource := range tls.CertificateAuthorities {
		content, err := unpacker.Decode(resource)
		if err == nil {
			err = fetch.CheckCA(content)
		}
		if err != nil {
			return nil, fmt.Errorf("reading CA %d: %w", i+1, err)
		}
		cas = append(cas, content)
	}
	return cas, nil
}
