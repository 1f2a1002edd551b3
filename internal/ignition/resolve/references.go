// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6/types"
	"github.com/vincent-petithory/dataurl"
	"k8s.io/utils/ptr"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/fetch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/transport"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

// RedactSource returns a source without parts that may be secret: user, password, query, and the
// content of a data URL.
func RedactSource(source string) string {
	if isDataURL(source) {
		return "a data URL"
	}
	parsed, err := url.Parse(source)
	if err != nil {
		return "an invalid URL"
	}
	return transport.RedactURL(parsed)
}

// isDataURL reports whether a source is in the config itself.
func isDataURL(source string) bool { return strings.HasPrefix(source, "data:") }

// resourceRef is a resource of a config and its purpose.
type resourceRef struct {
	description string
	resource    *types.Resource

	file       string // the path of the file of a content
	isAppended bool   // appended to the file
}

// describe describes the resource, as "file /etc/a at https://host/a".
func (r resourceRef) describe() string {
	return r.description + " at " + RedactSource(*r.resource.Source)
}

// isRemote reports whether the resource must be fetched.
func (r resourceRef) isRemote() bool {
	return r.resource.Source != nil && *r.resource.Source != "" && !isDataURL(*r.resource.Source)
}

// contentRefs returns the contents of the entries of a config.
func contentRefs(config *types.Config) []resourceRef {
	var list []resourceRef
	for i := range config.Storage.Files {
		file := &config.Storage.Files[i]
		list = append(list, resourceRef{"file " + file.Path, &file.Contents, file.Path, false})
		for j := range file.Append {
			description := fmt.Sprintf("appended content %d of file %s", j+1, file.Path)
			list = append(list, resourceRef{description, &file.Append[j], file.Path, true})
		}
	}
	return list
}

// nestedConfigs returns the other configs that a config refers to. A replacement makes the rest of the
// config void.
func nestedConfigs(ignition *types.Ignition) []resourceRef {
	if ignition.Config.Replace.Source != nil {
		return []resourceRef{{description: "replacement config", resource: &ignition.Config.Replace}}
	}
	return numberedRefs("merged config", ignition.Config.Merge)
}

func caRefs(ignition *types.Ignition) []resourceRef {
	return numberedRefs("certificate authority", ignition.Security.TLS.CertificateAuthorities)
}

func numberedRefs(description string, resources []types.Resource) []resourceRef {
	var list []resourceRef
	for i := range resources {
		list = append(list, resourceRef{description: fmt.Sprintf("%s %d", description, i+1), resource: &resources[i]})
	}
	return list
}

// checkSupported returns an error that lists the references that can never be fetched.
func checkSupported(list []resourceRef) error {
	var problems []string
	for _, r := range list {
		if problem := r.unsupportedReason(); problem != "" {
			problems = append(problems, r.description+" "+problem)
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return report.Fail(report.Usage, "# include the content in the config as a data URL, or provide it on a web server",
		"the config refers to unsupported sources: %s", joinFirst(problems))
}

func (r resourceRef) unsupportedReason() string {
	if !r.isRemote() {
		return ""
	}
	source, err := url.Parse(*r.resource.Source)
	switch {
	case err != nil:
		return "has an invalid URL"
	case source.Scheme != "http" && source.Scheme != "https":
		return fmt.Sprintf("has the unsupported scheme %s in %s (supported: data, http and https)",
			source.Scheme, transport.RedactURL(source))
	case source.Hostname() == "":
		return fmt.Sprintf("has a URL without a host: %s", transport.RedactURL(source))
	}
	return ""
}

// get returns the content of a resource, expanded and verified. While Offline is set, it only records a
// remote resource.
func (r *resolver) get(ctx context.Context, reference resourceRef) ([]byte, error) {
	if !reference.isRemote() {
		content, err := r.unpacker.Decode(*reference.resource)
		return content, wrap.Errorf(err, "%s", reference.description)
	}
	if r.options.Offline {
		r.remoteResources = append(r.remoteResources, reference.describe())
		return nil, nil
	}
	source, err := url.Parse(*reference.resource.Source)
	if err != nil {
		return nil, fmt.Errorf("%s has an invalid URL", reference.description)
	}
	headers := http.Header{} // of several headers with the same name, the last one applies
	for _, header := range reference.resource.HTTPHeaders {
		if header.Value == nil {
			// In a merge, a header without a value removes the parent's header. If there is none
			// to remove, Ignition fails, too.
			return nil, fmt.Errorf("%s: header %q has no value", reference.describe(), header.Name)
		}
		headers.Set(header.Name, *header.Value)
	}
	name := transport.RedactURL(source)
	request := fetch.Request{Name: name, URL: source, Headers: headers, Limit: r.unpacker.remaining()}
	response, err := r.client.Get(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("%s: fetching %s: %w", reference.description, name, err)
	}
	content, err := r.unpacker.unpack(response.Body, *reference.resource)
	if err != nil {
		return nil, report.Fail(report.Usage, "# check the content on the server; correct the content or the config",
			"%s: %w", reference.describe(), err)
	}
	if response.Unencrypted && ptr.Deref(reference.resource.Verification.Hash, "") == "" {
		r.warnings = append(r.warnings, reference.describe()+" was transferred without encryption and without a "+
			"verification hash: it could have been modified in transit")
	}
	return content, nil
}

// asDataURL returns the resource with its content as a data URL. Its hash remains valid, because
// it is the hash of the decoded content.
func (r *resolver) asDataURL(reference resourceRef, content []byte) types.Resource {
	if !reference.isRemote() {
		return *reference.resource
	}
	r.changed = true
	source := dataurl.New(content, "application/octet-stream").String()
	return types.Resource{Source: &source, Verification: reference.resource.Verification}
}
