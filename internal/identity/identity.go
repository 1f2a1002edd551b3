// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Paths that kubelet's own unit names.
const (
	PKIDirectory   = "/var/lib/kubelet/pki"
	KubeconfigPath = "/var/lib/kubelet/kubeconfig"
)

// Identity obtains the client certificate of this node before kubelet starts. A
// rejected request then causes one clear error instead of a crash loop.
type Identity struct {
	Dir                 string // directory of kubelet's certificates, PKIDirectory
	Kubeconfig          string // kubelet's kubeconfig, KubeconfigPath
	BootstrapKubeconfig []byte // the bootstrap kubeconfig; only Obtain needs it
	NodeName            string
	MachineID           string // of this host; "" skips the check that a Node of this name is this host's
	Server              string // URL of the API server; "" uses that of BootstrapKubeconfig
	CA                  []byte // PEM; empty uses that of BootstrapKubeconfig
	KeyDir              string // directory of the agent, 0700, that keeps a pending key across runs
	// Annotate returns the annotations for the client CSR with this public key, by
	// which an approver can identify the node. It can be nil.
	Annotate func(publicKey crypto.PublicKey) (map[string]string, error)
	// CheckRegistration checks with the node's credential the Node that kubelet
	// will create. existing is the Node in the cluster, or nil. It can be nil.
	CheckRegistration func(ctx context.Context, connection *kube.Conn, log report.Log, name string,
		existing *corev1.Node) error
	Topology ClusterTopology
	Proxy    kube.Proxy
	Ledger   *ledger.Ledger
	Log      report.Log // its step is used for the ledger
}

// Approver approves a CSR. If there is none, an administrator does it manually.
type Approver func(ctx context.Context, request ApprovalRequest) error

// ApprovalRequest is a CSR that waits for approval.
type ApprovalRequest struct {
	Name      string
	PublicKey any // of the client CSR; nil for a serving CSR, whose key only kubelet has
}

// Result describes how an identity was obtained.
type Result struct {
	Changed     bool   // false if a valid identity existed
	OnlyCluster bool   // only the API server's URL or CAs changed; certificate and key existed
	CSR         string // "" if the certificate existed
	Fingerprint string // of the public key
	NotAfter    time.Time
}

// Obtain ensures that kubelet has an identity that the API server accepts as
// this node's. If there is none, it submits a CSR and waits for the approval
// until ctx ends.
func (i *Identity) Obtain(ctx context.Context, approve Approver) (Result, error) {
	state, err := i.CheckWithCluster(ctx)
	if err != nil {
		return Result{}, err
	}
	if state == Expired {
		if err := i.checkClock(ctx); err != nil {
			return Result{}, err
		}
	}
	var result Result
	if state == Valid {
		result, err = i.refreshCluster(ctx)
	} else {
		result, err = i.requestCertificate(ctx, approve)
	}
	if err != nil {
		return result, err
	}
	if leaf := readLeaf(i.clientCertificatePath()); leaf != nil {
		result.NotAfter, result.Fingerprint = leaf.NotAfter, fingerprint(leaf.PublicKey)
	}
	return result, nil
}

// requestCertificate obtains a certificate by a CSR, verifies it with the API server and
// stores it. If the Node belongs to another host, nothing is stored. The key is
// kept, so that a later run finds the certificate after that Node is deleted.
func (i *Identity) requestCertificate(ctx context.Context, approve Approver) (Result, error) {
	cluster, err := i.expectedCluster()
	if err != nil {
		return Result{}, err
	}
	connection, config, err := i.connectBootstrap()
	if err != nil {
		return Result{}, err
	}
	a := &csrRequester{
		identity: i,
		conn:     connection,
		approve:  approve,
		expired:  i.readExpiredPair(),
	}
	a.bootstrapCertificate, _ = parseLeaf(config.CertData) // a token has none
	certificate, err := a.run(ctx)
	if err != nil {
		return Result{CSR: a.csrName()}, err
	}
	issued := keyPair{certificate: certificate, key: a.key.pem}
	verified := i.verifyIssued(ctx, cluster, issued)
	if errors.Is(verified, errForeignNode) {
		return Result{CSR: a.csrName()}, verified
	}
	if err := i.store(ctx, cluster, issued); err != nil {
		return Result{CSR: a.csrName()}, err
	}
	return Result{Changed: true, CSR: a.csrName()}, errors.Join(verified, a.key.remove())
}

// State is the state of kubelet's identity.
type State string

// States of an identity. For an identity of another cluster or node, Check
// returns an error instead.
const (
	Missing State = "missing" // kubelet has no identity
	Expired State = "expired" // the identity is this node's but has expired
	Valid   State = "valid"   // the identity is this node's and has not expired
)

// Check reads only local files. It fails for an identity of another cluster or
// node, which kubelet would use without checking anything but its expiry.
func (i *Identity) Check() (State, error) {
	_, config, err := i.compareCluster()
	if err != nil || config == nil {
		return Missing, err
	}
	return i.checkCertificate(config.CertData)
}

// compareCluster returns the expected cluster, and the settings in kubelet's kubeconfig. The settings are nil if
// they have no certificate. compareCluster fails if they are for another cluster.
func (i *Identity) compareCluster() (kube.Cluster, *rest.Config, error) {
	expected, err := i.expectedCluster()
	if err != nil {
		return expected, nil, err
	}
	if _, err := os.Lstat(i.Kubeconfig); errors.Is(err, fs.ErrNotExist) {
		return expected, nil, nil
	}
	config, certified, err := loadKubeconfig(i.Kubeconfig)
	if err != nil {
		return expected, nil, i.foreignIdentityError("it cannot be read: %w", err)
	}
	configured, err := kube.ClusterFromConfig(config)
	if err == nil {
		err = expected.CheckSame(configured)
	}
	if !certified {
		config = nil
	}
	if err != nil {
		return expected, config, i.foreignIdentityError("%w", err)
	}
	return expected, config, nil
}

func (i *Identity) checkCertificate(content []byte) (State, error) {
	leaf, err := parseLeaf(content)
	if err != nil {
		return Missing, i.foreignIdentityError("its client certificate cannot be read: %w", err)
	}
	if !isNodeCertificate(leaf, i.NodeName) {
		return Missing, i.otherNameError(leaf.Subject.CommonName)
	}
	if time.Now().After(leaf.NotAfter) {
		return Expired, nil
	}
	return Valid, nil
}

// otherNameError returns the error for a certificate of another user. If it is a node, the host was probably renamed.
// The remedy then does not leave the cluster.
func (i *Identity) otherNameError(user string) error {
	err := i.foreignIdentityError("its certificate is for %q, but this node is %q", user, nodeUser(i.NodeName))
	former, isNode := strings.CutPrefix(user, nodeUser(""))
	if !isNode {
		return err
	}
	return report.Fail(report.CodeOf(err), report.Remedyf("hostnamectl set-hostname %s # or, if the host is to have the "+
		"new name, or the disk is a copy of another machine's, leave the cluster first: hcp-node-agent leave",
		report.ShellWord(former)), "%w", err)
}

// foreignIdentityError returns the error for an existing identity of another cluster or
// node, which remains unchanged.
func (i *Identity) foreignIdentityError(format string, args ...any) error {
	remedy := report.Remedyf("hcp-node-agent leave # leaves the other cluster\n# or, if the agent did not join it, stop "+
		"kubelet, and then: mv %[1]s %[1]s.old; mv %[2]s %[2]s.old", i.Kubeconfig, i.Dir)
	return report.Fail(report.Refused, remedy, "this machine's kubelet already has another identity (%s): %w",
		i.Kubeconfig, fmt.Errorf(format, args...))
}

// expectedCluster returns the cluster that the identity must belong to.
func (i *Identity) expectedCluster() (kube.Cluster, error) {
	cluster := kube.Cluster{Server: i.Server, CA: i.CA}
	if cluster.Server != "" && len(cluster.CA) > 0 {
		return cluster, nil
	}
	_, bootstrap, err := parseBootstrapKubeconfig(i.BootstrapKubeconfig)
	if err != nil {
		return kube.Cluster{}, err
	}
	if cluster.Server == "" {
		cluster.Server = bootstrap.Server
	}
	if len(cluster.CA) == 0 {
		cluster.CA = bootstrap.CA
	}
	return cluster, nil
}

// clientCertificatePath returns the path of kubelet's current client certificate and key.
func (i *Identity) clientCertificatePath() string { return ClientCertificatePath(i.Dir) }
