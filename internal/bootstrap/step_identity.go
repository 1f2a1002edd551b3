package bootstrap

import (
	"context"
	"net/netip"
	"path/filepath"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// identity returns the client certificate manager of the node.
func (j *join) identity(log report.Log) *kubelet.Identity {
	return &kubelet.Identity{
		Dir: kubelet.PKIDirectory, Kubeconfig: kubelet.KubeconfigPath, Bootstrap: j.bootstrapKubeconfig(),
		NodeName: j.name, MachineID: j.facts.MachineID, Server: j.state.APIServer, CA: j.state.APIServerCA, KeyDir: filepath.Join(j.dir, keyDir),
		Register: j.register(), Ledger: j.ledger, Log: log, Annotate: j.annotate(),
		Place: j.state.place(),
	}
}

// getIdentity obtains the node's client certificate before kubelet
// starts.
func getIdentity(ctx context.Context, j *join, log report.Log) (outcome, error) {
	identity := j.identity(log)
	result, err := identity.Obtain(ctx, j.approveOwn(nil))
	if err != nil {
		return outcome{}, err
	}
	if renewal := identity.Renewal(time.Now()); renewal.Text != "" {
		log.Warn(renewal.Text, renewal.Remedy)
	}
	summary := "system:node:" + j.name + " until " + result.NotAfter.Local().Format("2006-01-02 15:04")
	switch {
	case result.Authorities:
		return changed("%s; kubelet's kubeconfig has the cluster's certificate authorities of now", summary)
	case !result.Changed:
		return same("%s", summary)
	}
	return changed("%s (CSR %s)", summary, result.CSR)
}

// approveOwn returns a function that approves the node's own CSRs with the
// kubeconfig of --approve-with. It returns nil without that option; an
// administrator then approves the CSRs.
func (j *join) approveOwn(addresses []netip.Addr) kubelet.Approver {
	if j.inputs.approver == nil {
		return nil
	}
	return func(ctx context.Context, request kubelet.Request) error {
		want := approver.Want{NodeName: j.name, PublicKey: request.PublicKey, Addresses: addresses}
		return approver.ApproveOwn(ctx, j.inputs.approver, want, request.Name)
	}
}

// node returns a client for this host's Node that uses the node's own
// credential.
func (j *join) node(log report.Log) (*kubelet.Node, error) {
	node, err := kubelet.OpenNode(kubelet.KubeconfigPath, j.name, nil, log)
	if err != nil {
		return nil, err
	}
	node.BootID, node.Machine = j.facts.BootID, j.witness()
	return node, nil
}

// witness returns the host on which the causes of failures are searched.
func (j *join) witness() kubelet.Machine {
	dir := networkDirectory
	if runtime, err := j.wantedRuntime(); err == nil && runtime.NetworkDir != "" {
		dir = runtime.NetworkDir
	}
	return kubelet.ThisMachine(j.systemd, dir)
}

// awaitServing waits until kubelet has its serving certificate.
func awaitServing(ctx context.Context, j *join, log report.Log) (outcome, error) {
	node, err := j.node(log)
	if err != nil {
		return outcome{}, err
	}
	serving, err := servingOf(node, j.state.place())
	if err != nil {
		return outcome{}, err
	}
	if j.inputs.ticket != nil && serving.Check() != kubelet.Valid {
		log.Note("the approver that has this node's claim approves the serving CSR by itself, when the claim names its addresses")
	}
	result, err := serving.Obtain(ctx, j.approveOwn(serving.Addresses))
	if err != nil {
		return outcome{}, err
	}
	if !result.Changed {
		return same("kubelet has its serving certificate")
	}
	if result.CSR == "" { // approved before the agent saw the CSR
		return changed("kubelet has its serving certificate")
	}
	return changed("kubelet has its serving certificate (CSR %s)", result.CSR)
}

// servingOf returns the serving certificate of the node on this host.
func servingOf(node *kubelet.Node, place kubelet.Place) (*kubelet.Serving, error) {
	addresses, err := hostAddresses()
	want := approver.Want{NodeName: node.Name, Addresses: addresses}
	return &kubelet.Serving{Node: node, Dir: kubelet.PKIDirectory, Addresses: addresses, Fits: want.Serving, Place: place}, err
}

// hostAddresses returns the addresses under which peers can reach this host.
func hostAddresses() ([]netip.Addr, error) {
	links, err := host.Links()
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
