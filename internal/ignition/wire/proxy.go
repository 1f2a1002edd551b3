package wire

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
)

// ProxyAnswer is a proxy's refusal to connect.
type ProxyAnswer struct {
	Proxy  string // its URL, without a password
	Target string // HOST:PORT
	Status int    // of HTTP
}

func (p *ProxyAnswer) Error() string {
	return fmt.Sprintf("the proxy %s refuses to connect to %s: %d %s", p.Proxy, p.Target, p.Status, http.StatusText(p.Status))
}

// CheckConnect is what a http.Transport calls with a proxy's answer. Without
// it, net/http would give the text of the status alone.
func CheckConnect(_ context.Context, proxy *url.URL, request *http.Request, response *http.Response) error {
	if response.StatusCode == http.StatusOK {
		return nil
	}
	return &ProxyAnswer{Proxy: proxy.Redacted(), Target: request.Host, Status: response.StatusCode}
}
