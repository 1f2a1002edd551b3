// SPDX-License-Identifier: Apache-2.0

package osimage

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/google/go-containerregistry/pkg/authn"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Blob is the content of a blob as the registry stores it. It is not verified.
type Blob struct {
	io.ReadCloser

	Offset int64 // of the first byte: 0 if the registry does not support ranges
}

// Blob returns a blob of the image from an offset on, to continue a download. Only ctx limits the time
// to read it.
func (i *Image) Blob(ctx context.Context, blob v1.Descriptor, offset int64) (*Blob, error) {
	repository := i.reference.Context()
	login, err := transport.NewWithContext(ctx, repository.Registry, authn.FromConfig(i.source.login),
		i.client.transport(i.source.Endpoint.Insecure), []string{repository.Scope(transport.PullScope)})
	if err != nil {
		return nil, i.client.explain(i.source, err)
	}
	address := url.URL{
		Scheme: repository.Scheme(),
		Host:   repository.RegistryStr(),
		Path:   fmt.Sprintf("/v2/%s/blobs/%s", repository.RepositoryStr(), blob.Digest),
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("requesting blob %s: %w", blob.Digest, err)
	}
	if offset > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", offset, blob.Size-1))
	}
	response, err := (&http.Client{Transport: login}).Do(request)
	if err != nil {
		return nil, i.client.explain(i.source, err)
	}
	if body, isLimited := response.Body.(*limitedBody); isLimited && response.StatusCode < http.StatusMultipleChoices {
		body.removeLimits()
	}
	switch response.StatusCode {
	case http.StatusOK:
		return &Blob{ReadCloser: response.Body}, nil
	case http.StatusPartialContent:
		var first int64
		if _, err := fmt.Sscanf(response.Header.Get("Content-Range"), "bytes %d-", &first); err == nil && first == offset {
			return &Blob{ReadCloser: response.Body, Offset: offset}, nil
		}
	}
	_ = response.Body.Close()
	return nil, report.Fail(report.Failed, "", "%s: the registry responded to a request for blob %s with status %s",
		i.Source, blob.Digest, response.Status)
}
