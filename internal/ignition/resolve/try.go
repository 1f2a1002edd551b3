package resolve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/wire"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// try asks once, and follows redirects. As in Ignition, headers go to the first
// server only: what it redirects to may be anybody's.
func (c *client) try(parent context.Context, target *url.URL, headers http.Header, limit int64) (fetched, error) {
	ctx, cancel := context.WithTimeout(parent, tryTimeout)
	defer cancel()
	clear := false
	for range maxRedirects {
		clear = clear || target.Scheme == "http"
		response, err := c.roundTrip(ctx, target, headers)
		if err != nil {
			return fetched{}, explain(target, err)
		}
		next, err := redirected(target, response)
		if err != nil || next != nil {
			response.Body.Close()
		}
		if err != nil {
			return fetched{}, err
		}
		if next == nil {
			defer response.Body.Close()
			body, err := c.body(response, limit, cancel)
			return fetched{body, clear}, err
		}
		target, headers = next, http.Header{"User-Agent": {userAgent}}
	}
	return fetched{}, &fault{code: report.Usage, what: fmt.Sprintf("it redirects more than %d times", maxRedirects), remedy: "# check the URL"}
}

func (c *client) roundTrip(ctx context.Context, target *url.URL, headers http.Header) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, errors.New("the URL cannot be asked for") // the cause would show it
	}
	request.Header = headers.Clone()
	if user := target.User; user != nil && request.Header.Get("Authorization") == "" {
		password, _ := user.Password()
		request.SetBasicAuth(user.Username(), password)
	}
	// A http.Client would put URLs into its errors, a redirect's among them.
	return c.transport.RoundTrip(request)
}

// redirected gives where a response sends to, nil when it is an answer.
func redirected(target *url.URL, response *http.Response) (*url.URL, error) {
	location := response.Header.Get("Location")
	switch response.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, nil //nolint:nilnil // an answer, no redirect
	}
	if location == "" {
		return nil, nil //nolint:nilnil // and so an answer, of a strange status
	}
	next, err := target.Parse(location)
	if err != nil {
		return nil, &fault{code: report.Usage, what: "it redirects to what is no URL", remedy: "# check the URL"}
	}
	if next.Scheme != "http" && next.Scheme != "https" || next.Hostname() == "" {
		return nil, &fault{code: report.Usage, what: fmt.Sprintf("it redirects to %s, which is neither http nor https", place(next)), remedy: "# check the URL"}
	}
	return next, nil
}

// body reads the whole answer. A server that stops in the middle of it is
// asked again; one that does not end is left.
func (c *client) body(response *http.Response, limit int64, cancel context.CancelFunc) ([]byte, error) {
	switch status := response.StatusCode; status {
	case http.StatusOK, http.StatusNoContent:
	default:
		return nil, explainStatus(status)
	}
	stalled := time.AfterFunc(c.stall, cancel)
	defer stalled.Stop()
	body, err := io.ReadAll(io.LimitReader(&alive{response.Body, stalled, c.stall}, limit+1))
	if err != nil {
		return nil, truncated(len(body), response.ContentLength, err)
	}
	if int64(len(body)) > limit {
		return nil, &fault{
			code:   report.Usage,
			what:   "what it sends has more than " + bytesOf(limit) + ", or all contents together have",
			remedy: "# leave large contents to a package or an image",
		}
	}
	return body, nil
}

// alive is a reader that pushes a deadline on with every piece that comes.
type alive struct {
	io.Reader
	stalled *time.Timer
	stall   time.Duration
}

func (a *alive) Read(p []byte) (int, error) {
	n, err := a.Reader.Read(p)
	if n > 0 {
		a.stalled.Reset(a.stall)
	}
	return n, err
}

func truncated(got int, want int64, cause error) *fault {
	return &fault{
		code: report.Failed, temporary: true, cause: cause,
		what:   "it stopped sending after " + wire.Received(got, want),
		remedy: "# check the link to the server",
	}
}
