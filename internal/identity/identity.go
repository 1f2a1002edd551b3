package identity

import (
	"context"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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
	Server              string // URL of the API server; "" uses that of Bootstrap
	CA                  []byte // PEM; empty uses that of Bootstrap
	KeyDir              string // directory of the agent, 0700, that keeps a pending key across runs
	// Annotate returns the annotations for the client CSR with this public key, by
	// which an approver can identify the node. It can be nil.
	Annotate func(publicKey crypto.PublicKey) (map[string]string, error)
	// CheckRegistration checks with the node's credential the Node that kubelet
	// will create. existing is the Node in the cluster, or nil. It can be nil.
	CheckRegistration func(ctx context.Context, connection *kube.Conn, log report.Log, name string, existing *corev1.Node) error
	Topology          ClusterTopology
	Proxy             kube.Proxy
	Ledger            *ledger.Ledger
	Log               report.Log // its step is used for the ledger
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
func (i *Identity) Check(_ context.Context) (State, error) {
	cluster, err := i.expectedCluster()
	if err != nil {
		return Missing, err
	}
	if _, err := os.Lstat(i.Kubeconfig); errors.Is(err, fs.ErrNotExist) {
		return Missing, nil
	}
	config, certified, err := loadKubeconfig(i.Kubeconfig)
	if err != nil {
		return Missing, i.foreignIdentityError("it cannot be read: %w", err)
	}
	if err := i.checkCluster(cluster, config); err != nil || !certified {
		return Missing, err
	}
	return i.checkCertificate(config.CertData)
}

func (i *Identity) checkCertificate(content []byte) (State, error) {
	chain, err := kube.ParsePEMCertificates(content)
	if err != nil {
		return Missing, i.foreignIdentityError("its client certificate cannot be read: %w", err)
	}
	leaf := chain[0]
	if leaf.Subject.CommonName != nodeUser(i.NodeName) || !slices.Contains(leaf.Subject.Organization, "system:nodes") {
		return Missing, i.foreignIdentityError("its certificate is for %q, and this node is %q", leaf.Subject.CommonName, nodeUser(i.NodeName))
	}
	if time.Now().After(leaf.NotAfter) {
		return Expired, nil
	}
	return Valid, nil
}

// checkCluster returns an error unless config is for cluster.
func (i *Identity) checkCluster(cluster kube.Cluster, config *rest.Config) error {
	theirs, err := kube.ClusterFromConfig(config)
	if err != nil {
		return i.foreignIdentityError("%w", err)
	}
	if err := cluster.CheckSame(theirs); err != nil {
		return i.foreignIdentityError("%w", err)
	}
	return nil
}

// foreignIdentityError returns the error for an existing identity of another cluster or
// node, which remains unchanged.
func (i *Identity) foreignIdentityError(format string, args ...any) error {
	remedy := fmt.Sprintf("# to leave the other cluster:\nhcp-node-agent leave\n# or, if the agent did not join it:\n"+
		"systemctl stop kubelet; mv %s %s.old; mv %s %s.old", i.Kubeconfig, i.Kubeconfig, i.Dir, i.Dir)
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
func (i *Identity) clientCertificatePath() string { return filepath.Join(i.Dir, currentClient) }

// readLeaf reads the first certificate in a file. It returns nil if there is
// none.
func readLeaf(path string) *x509.Certificate {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	chain, err := kube.ParsePEMCertificates(content)
	if err != nil {
		return nil
	}
	return chain[0]
}
