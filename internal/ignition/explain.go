package ignition

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// explain tells why no answer came.
func explain(stub *Stub, connectTo string, err error) error {
	var known *refusal
	var failure *report.Failure
	var answer *proxyAnswer
	var name *net.DNSError
	switch {
	case errors.As(err, &known), errors.As(err, &failure):
		return err
	case errors.As(err, &answer):
		return explainProxy(answer)
	case errors.As(err, &name):
		return explainName(name)
	}
	if no := explainTLS(stub, err); no != nil {
		return no
	}
	return explainDial(stub, connectTo, err)
}

func explainProxy(answer *proxyAnswer) *refusal {
	return &refusal{
		code: report.Refused, cause: answer, what: answer.Error(), temporary: answer.status >= 500,
		remedy: "let the proxy connect to it, or name it in ignition.proxy.noProxy of the stub (from the hosted cluster's proxy configuration)",
	}
}

// explainName tells a name that does not exist from a name server that does
// not answer.
func explainName(name *net.DNSError) *refusal {
	if name.IsNotFound {
		return &refusal{
			code: report.Refused, cause: name,
			what:   fmt.Sprintf("the name %s does not exist in DNS", name.Name),
			remedy: fmt.Sprintf("mend DNS (check with: getent hosts %s), or say where it is: --connect-to HOST:PORT", name.Name),
		}
	}
	return &refusal{
		code: report.Failed, cause: name, temporary: true,
		what:   fmt.Sprintf("no name server answers for %s (%s)", name.Name, name.Err),
		remedy: "check the name servers of this host: resolvectl status, or cat /etc/resolv.conf",
	}
}

// explainDial tells the ways in which a connection does not come about, or
// breaks. All of them can pass.
func explainDial(stub *Stub, connectTo string, err error) *refusal {
	no := &refusal{
		code: report.Failed, temporary: true, cause: err,
		remedy: fmt.Sprintf("check the way to it: curl -vk https://%s/healthz", dialledHost(stub, connectTo)),
	}
	to := dialledHost(stub, connectTo)
	var operation *net.OpError
	if errors.As(err, &operation) {
		if operation.Op == "proxyconnect" {
			return unreachableProxy(err)
		}
		if operation.Op == "dial" && operation.Addr != nil {
			to = fmt.Sprintf("%s (%s)", to, operation.Addr)
		}
	}
	var slow net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		no.what = fmt.Sprintf("%s refuses the connection: nothing listens there, or a firewall rejects it", to)
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		no.what = fmt.Sprintf("there is no route to %s", to)
		no.remedy = "check the routes of this host: ip route; ip -6 route"
	case operation != nil && operation.Op == "dial" && errors.As(err, &slow) && slow.Timeout():
		no.what = fmt.Sprintf("%s does not answer the connection: a firewall drops it, or the address is wrong", to)
	case errors.As(err, &slow) && slow.Timeout(), errors.Is(err, context.DeadlineExceeded):
		no.what = fmt.Sprintf("%s took the connection and did not answer in time", to)
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		no.what = fmt.Sprintf("%s closed the connection without an answer", to)
	default:
		no.what = fmt.Sprintf("asking %s failed: %s", to, innermost(err))
	}
	return no
}

func unreachableProxy(err error) *refusal {
	return &refusal{
		code: report.Failed, temporary: true, cause: err,
		what:   "the proxy of the stub cannot be reached: " + innermost(err).Error(),
		remedy: "check ignition.proxy of the stub, which comes from the hosted cluster's proxy configuration",
	}
}

// innermost drops what net/http and net put around the cause; the outer layers
// repeat the URL.
func innermost(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// dialledHost is HOST:PORT of where the connection goes to.
func dialledHost(stub *Stub, connectTo string) string {
	if connectTo != "" {
		return connectTo
	}
	return net.JoinHostPort(stub.Source.Hostname(), portOf(stub))
}

func portOf(stub *Stub) string {
	if port := stub.Source.Port(); port != "" {
		return port
	}
	return "443"
}
