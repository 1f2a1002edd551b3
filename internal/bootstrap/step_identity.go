package bootstrap

import (
	"context"
	"net/netip"
	"path/filepath"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Identity returns the client certificate manager of the node.
func (j *Builder) Identity(log report.Log) *kubelet.Identity {
	return &kubelet.Identity{
		Dir: kubelet.PKIDirectory, Kubeconfig: kubelet.KubeconfigPath, BootstrapKubeconfig: j.BootstrapKubeconfig(),
		NodeName: j.NodeName, MachineID: j.Facts.MachineID, Server: j.State.APIServer, CA: j.State.APIServerCA, KeyDir: filepath.Join(j.Dir, KeyDir),
		RegistrationCheck: j.registerRequest(), Ledger: j.Ledger, Log: log, Annotate: j.csrAnnotations(),
		Topology: j.State.topology(),
	}
}

// obtainClientCertificate obtains the node's client certificate before kubelet
// starts.
func obtainClientCertificate(ctx context.Context, j *Builder, log report.Log) (Outcome, error) {
	identity := j.Identity(log)
	result, err := identity.Obtain(ctx, j.ownApprover(nil))
	if err != nil {
		return Outcome{}, err
	}
	if renewal := identity.CheckRenewal(time.Now()); renewal.Text != "" {
		log.Warn(renewal.Text, renewal.Remedy)
	}
	summary := "system:node:" + j.NodeName + " until " + result.NotAfter.Local().Format("2006-01-02 15:04")
	switch {
	case result.OnlyCAs:
		return Changed("%s; kubelet's kubeconfig has the cluster's certificate authorities of now", summary)
	case !result.Changed:
		return Unchanged("%s", summary)
	}
	return Changed("%s (CSR %s)", summary, result.CSR)
}

// ownApprover returns a function that approves the node's own CSRs with the
// kubeconfig of --approve-with. It returns nil without that option; an
// administrator then approves the CSRs.
func (j *Builder) ownApprover(addresses []netip.Addr) kubelet.Approver {
	if j.Inputs.Approver == nil {
		return nil
	}
	return func(ctx context.Context, request kubelet.ApprovalRequest) error {
		want := approver.ExpectedNode{NodeName: j.NodeName, PublicKey: request.PublicKey, Addresses: addresses}
		return approver.ApproveOwn(ctx, j.Inputs.Approver, want, request.Name)
	}
}

// NodeClient returns a client for this host's Node that uses the node's own
// credential.
func (j *Builder) NodeClient(log report.Log) (*kubelet.Node, error) {
	node, err := kubelet.OpenNode(kubelet.KubeconfigPath, j.NodeName, nil, log)
	if err != nil {
		return nil, err
	}
	node.BootID, node.Host = j.Facts.BootID, j.DiagnosticsHost()
	return node, nil
}

// DiagnosticsHost returns the host on which the causes of failures are searched.
func (j *Builder) DiagnosticsHost() kubelet.Host {
	dir := NetworkDirectory
	if runtime, err := j.WantedRuntime(); err == nil && runtime.NetworkDir != "" {
		dir = runtime.NetworkDir
	}
	return kubelet.JoinedHost(j.Systemd, dir)
}

// awaitServing waits until kubelet has its serving certificate.
func awaitServing(ctx context.Context, j *Builder, log report.Log) (Outcome, error) {
	node, err := j.NodeClient(log)
	if err != nil {
		return Outcome{}, err
	}
	serving, err := ServingCertificate(node, j.State.topology())
	if err != nil {
		return Outcome{}, err
	}
	if j.Inputs.JoinToken != nil && serving.Check() != kubelet.Valid {
		log.Note("the approver that has this node's claim approves the serving CSR by itself, when the claim names its addresses")
	}
	result, err := serving.Obtain(ctx, j.ownApprover(serving.Addresses))
	if err != nil {
		return Outcome{}, err
	}
	if !result.Changed {
		return Unchanged("kubelet has its serving certificate")
	}
	if result.CSR == "" { // approved before the agent saw the CSR
		return Changed("kubelet has its serving certificate")
	}
	return Changed("kubelet has its serving certificate (CSR %s)", result.CSR)
}

// ServingCertificate returns the serving certificate of the node on this host.
func ServingCertificate(node *kubelet.Node, place kubelet.ClusterTopology) (*kubelet.Serving, error) {
	addresses, err := Addresses()
	want := approver.ExpectedNode{NodeName: node.Name, Addresses: addresses}
	return &kubelet.Serving{Node: node, Dir: kubelet.PKIDirectory, Addresses: addresses, Validate: want.CheckServing, Topology: place}, err
}

// Addresses returns the addresses under which peers can reach this host.
func Addresses() ([]netip.Addr, error) {
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
