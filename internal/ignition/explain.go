package ignition

import (
	"errors"
	"fmt"
	"net"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/wire"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// explain tells why no answer came.
func explain(stub *Stub, connectTo string, err error) error {
	var known *refusal
	var failure *report.Failure
	var answer *wire.ProxyAnswer
	var name *net.DNSError
	switch {
	case errors.As(err, &known), errors.As(err, &failure):
		return err
	case errors.As(err, &answer):
		return explainProxy(stub, answer)
	case errors.As(err, &name):
		return explainName(stub, name)
	}
	if no := explainTLS(stub, err); no != nil {
		return no
	}
	return explainDial(stub, connectTo, err)
}

func explainProxy(stub *Stub, answer *wire.ProxyAnswer) *refusal {
	no := &refusal{
		code: report.Refused, cause: answer, what: answer.Error(), temporary: answer.Status >= 500,
		remedy: "# let the proxy connect to it, or name it in ignition.proxy.noProxy of the stub (from the hosted cluster's proxy configuration)",
	}
	if stub.standalone() {
		no.remedy = "# let the proxy connect to it, or name it in ignition.proxy.noProxy of the stub"
	}
	return no
}

// explainName tells a name that does not exist from a name server that does
// not answer.
func explainName(stub *Stub, name *net.DNSError) *refusal {
	if name.IsNotFound {
		no := &refusal{
			code: report.Refused, cause: name,
			what:   fmt.Sprintf("the name %s does not exist in DNS", name.Name),
			remedy: fmt.Sprintf("# mend DNS (check with: getent hosts %s), or say where it is: --connect-to HOST:PORT", name.Name),
		}
		if stub.standalone() {
			no.remedy = fmt.Sprintf("# make it known to this host in DNS or /etc/hosts, for kubelet needs it too (check with: getent hosts %s): "+
				"api-int names lead to the cluster's internal load balancer, and are often only known inside", name.Name)
		}
		return no
	}
	return &refusal{
		code: report.Failed, cause: name, temporary: true,
		what:   fmt.Sprintf("no name server answers for %s (%s)", name.Name, name.Err),
		remedy: "# check the name servers of this host: resolvectl status, or cat /etc/resolv.conf",
	}
}

// explainDial tells the ways in which a connection does not come about, or
// breaks. All of them can pass.
func explainDial(stub *Stub, connectTo string, err error) *refusal {
	if proxy, _ := wire.Dialled(err); proxy {
		return unreachableProxy(stub, err)
	}
	to := dialledHost(stub, connectTo)
	no := &refusal{
		code: report.Failed, temporary: true, cause: err, what: wire.Connection(to, err),
		remedy: fmt.Sprintf("# check the way to it:\ncurl -vk https://%s/healthz", to),
	}
	if stub.standalone() {
		no.remedy += "\n" + unreachableConfig(to)
	}
	if wire.NoRoute(err) {
		no.remedy = "# check the routes of this host:\nip route; ip -6 route"
	}
	return no
}

func unreachableProxy(stub *Stub, err error) *refusal {
	no := &refusal{
		code: report.Failed, temporary: true, cause: err,
		what:   "the proxy of the stub cannot be reached: " + wire.Innermost(err).Error(),
		remedy: "# check ignition.proxy of the stub, which comes from the hosted cluster's proxy configuration",
	}
	if stub.standalone() {
		no.remedy = "# check ignition.proxy of the stub"
	}
	return no
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
