package bootstrap

import (
	"context"
	"net/netip"
	"path/filepath"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// identityManager returns the client certificate manager of the node.
func (j *operation) identityManager(log report.Log) *identity.Identity {
	identity := &identity.Identity{
		Dir: identity.PKIDirectory, Kubeconfig: identity.KubeconfigPath, BootstrapKubeconfig: j.bootstrapKubeconfig(),
		NodeName: j.name, MachineID: j.facts.MachineID, Server: j.state.APIServer, CA: j.state.APIServerCA, KeyDir: filepath.Join(j.dir, keyDir),
		Ledger: j.ledger, Log: log, Annotate: j.csrAnnotations(),
		Topology: j.state.topology(),
	}
	if check := j.registerRequest(); check != nil {
		identity.CheckRegistration = check.Run
	}
	return identity
}

// obtainClientCertificate obtains the node's client certificate before kubelet
// starts.
func obtainClientCertificate(ctx context.Context, j *operation, log report.Log) (outcome, error) {
	identity := j.identityManager(log)
	result, err := identity.Obtain(ctx, j.ownApprover(nil))
	if err != nil {
		return outcome{}, err
	}
	if renewal := identity.CheckRenewal(time.Now()); renewal.Text != "" {
		log.Warn(renewal.Text, renewal.Remedy)
	}
	summary := "system:node:" + j.name + " until " + result.NotAfter.Local().Format("2006-01-02 15:04")
	switch {
	case result.OnlyCAs:
		return changed("%s; kubelet's kubeconfig has the cluster's certificate authorities of now", summary)
	case !result.Changed:
		return unchanged("%s", summary)
	}
	return changed("%s (CSR %s)", summary, result.CSR)
}

// ownApprover returns a function that approves the node's own CSRs with the
// kubeconfig of --approve-with. It returns nil without that option; an
// administrator then approves the CSRs.
func (j *operation) ownApprover(addresses []netip.Addr) identity.Approver {
	if j.inputs.approver == nil {
		return nil
	}
	return func(ctx context.Context, request identity.ApprovalRequest) error {
		want := approver.ExpectedNode{NodeName: j.name, PublicKey: request.PublicKey, Addresses: addresses}
		return approver.ApproveOwn(ctx, j.inputs.approver, want, request.Name)
	}
}

// nodeClient returns a client for this host's Node that uses the node's own
// credential.
func (j *operation) nodeClient(log report.Log) (*node.Node, error) {
	node, err := node.OpenNode(identity.KubeconfigPath, j.name, nil, log)
	if err != nil {
		return nil, err
	}
	node.BootID, node.Host = j.facts.BootID, j.diagnosticsHost()
	return node, nil
}

// diagnosticsHost returns the host on which the causes of failures are searched.
func (j *operation) diagnosticsHost() node.Host {
	dir := networkDirectory
	if runtime, err := j.wantedRuntime(); err == nil && runtime.NetworkDir != "" {
		dir = runtime.NetworkDir
	}
	return node.JoinedHost(j.systemd, dir)
}

// awaitServing waits until kubelet has its serving certificate.
func awaitServing(ctx context.Context, j *operation, log report.Log) (outcome, error) {
	node, err := j.nodeClient(log)
	if err != nil {
		return outcome{}, err
	}
	serving, err := servingCertificate(node, j.state.topology())
	if err != nil {
		return outcome{}, err
	}
	if j.inputs.joinToken != nil && serving.Check() != identity.Valid {
		log.Note("the approver that has this node's claim approves the serving CSR by itself, when the claim names its addresses")
	}
	result, err := serving.Obtain(ctx, j.ownApprover(serving.Addresses))
	if err != nil {
		return outcome{}, err
	}
	if !result.Changed {
		return unchanged("kubelet has its serving certificate")
	}
	if result.CSR == "" { // approved before the agent saw the CSR
		return changed("kubelet has its serving certificate")
	}
	return changed("kubelet has its serving certificate (CSR %s)", result.CSR)
}

// servingCertificate returns the serving certificate of the node on this host.
func servingCertificate(node *node.Node, place identity.ClusterTopology) (*identity.Serving, error) {
	addresses, err := hostAddresses()
	want := approver.ExpectedNode{NodeName: node.Name, Addresses: addresses}
	return &identity.Serving{
		Conn:      node.Conn,
		NodeName:  node.Name,
		Log:       node.Log,
		Dir:       identity.PKIDirectory,
		Addresses: addresses,
		Topology:  place,
		Validate:  want.CheckServing,
	}, err
}

// hostAddresses returns the addresses under which peers can reach this host.
func hostAddresses() ([]netip.Addr, error) {
	links, err := hostnet.Links()
	if err != nil {
		return nil, err
	}
	var addresses []netip.Addr
	for _, link := range links {
		if link.Name == "lo" {
			continue // contains the API server's internal address, on every node
		}
		for _, prefix := range link.Addresses {
			addresses = append(addresses, prefix.Addr())
		}
	}
	return addresses, nil
}
