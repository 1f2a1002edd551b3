package kubelet

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

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// The places that kubelet's own unit names.
const (
	PKIDirectory   = "/var/lib/kubelet/pki"
	KubeconfigPath = "/var/lib/kubelet/kubeconfig"
)

// Identity gets this machine the client certificate of a node before kubelet
// starts, so that a refusal is one clear error and not a crash loop.
type Identity struct {
	Dir        string // kubelet's certificates, PKIDirectory
	Kubeconfig string // kubelet's kubeconfig, KubeconfigPath
	Bootstrap  []byte // the bootstrap kubeconfig; only Obtain needs it
	NodeName   string
	MachineID  string    // of this machine; "" leaves open whose a Node of this name is
	Server     string    // URL of the API server; empty: that of Bootstrap
	CA         []byte    // PEM; empty: that of Bootstrap
	Register   *Register // the Node that kubelet will make, asked of the cluster; nil: not asked
	KeyDir     string    // the agent's own directory, 0700, where a pending key is kept across runs
	// Annotate gives what the client CSR with this public key is annotated
	// with, so that an approver can know the node by it; nil for nothing.
	Annotate func(publicKey crypto.PublicKey) (map[string]string, error)
	Place    Place
	Proxy    Proxy
	Ledger   *ledger.Ledger
	Log      report.Log // its step is the ledger's
}

// State is what kubelet has by way of identity.
type State string

// The states of an identity. One of another cluster or node is no state but an
// error of Check.
const (
	Missing State = "missing" // kubelet has none
	Expired State = "expired" // it was this node's, and is too old
	Valid   State = "valid"   // it is this node's, and still good
)

// Check looks at the files alone. An identity of another cluster or of another
// node, which kubelet would use without a question (it looks only at the
// expiry), is refused.
func (i *Identity) Check(_ context.Context) (State, error) {
	cluster, err := i.cluster()
	if err != nil {
		return Missing, err
	}
	if _, err := os.Lstat(i.Kubeconfig); errors.Is(err, fs.ErrNotExist) {
		return Missing, nil
	}
	config, certified, err := loadKubeconfig(i.Kubeconfig)
	if err != nil {
		return Missing, i.foreign("it cannot be read: %w", err)
	}
	if err := i.fits(cluster, config); err != nil || !certified {
		return Missing, err
	}
	return i.checkCertificate(config.CertData)
}

// loadKubeconfig reads kubelet's kubeconfig. Its certificate may be missing:
// that is how an interrupted bootstrap of kubelet's own leaves it.
func loadKubeconfig(path string) (config *rest.Config, certified bool, err error) {
	file, err := clientcmd.LoadFromFile(path)
	if err != nil {
		return nil, false, fmt.Errorf("loading: %w", err)
	}
	if err := clientcmd.ResolveLocalPaths(file); err != nil {
		return nil, false, fmt.Errorf("loading: %w", err)
	}
	certified = true
	for _, user := range file.AuthInfos {
		if _, err := os.Stat(user.ClientCertificate); user.ClientCertificate != "" && errors.Is(err, fs.ErrNotExist) {
			user.ClientCertificate, user.ClientKey, certified = "", "", false
		}
	}
	config, err = clientcmd.NewDefaultClientConfig(*file, nil).ClientConfig()
	if err != nil {
		return nil, false, fmt.Errorf("loading: %w", err)
	}
	return config, certified, nil
}

func (i *Identity) checkCertificate(content []byte) (State, error) {
	chain, err := certificates(content)
	if err != nil {
		return Missing, i.foreign("its client certificate cannot be read: %w", err)
	}
	leaf := chain[0]
	if leaf.Subject.CommonName != userOf(i.NodeName) || !slices.Contains(leaf.Subject.Organization, "system:nodes") {
		return Missing, i.foreign("its certificate is for %q, and this node is %q", leaf.Subject.CommonName, userOf(i.NodeName))
	}
	if time.Now().After(leaf.NotAfter) {
		return Expired, nil
	}
	return Valid, nil
}

// fits tells whether kubelet's kubeconfig is for this cluster.
func (i *Identity) fits(cluster Cluster, config *rest.Config) error {
	theirs, err := clusterOf(config)
	if err != nil {
		return i.foreign("%w", err)
	}
	if err := cluster.Same(theirs); err != nil {
		return i.foreign("%w", err)
	}
	return nil
}

// foreign refuses what is there without touching it.
func (i *Identity) foreign(format string, args ...any) error {
	remedy := fmt.Sprintf("# to leave the other cluster:\nhcp-node-agent leave\n# or, if the agent did not join it:\n"+
		"systemctl stop kubelet; mv %s %s.old; mv %s %s.old", i.Kubeconfig, i.Kubeconfig, i.Dir, i.Dir)
	return report.Fail(report.Refused, remedy, "this machine's kubelet already has another identity (%s): %w",
		i.Kubeconfig, fmt.Errorf(format, args...))
}

// cluster is the one that the identity shall be for.
func (i *Identity) cluster() (Cluster, error) {
	cluster := Cluster{Server: i.Server, CA: i.CA}
	if cluster.Server != "" && len(cluster.CA) > 0 {
		return cluster, nil
	}
	_, bootstrap, err := readBootstrap(i.Bootstrap)
	if err != nil {
		return Cluster{}, err
	}
	if cluster.Server == "" {
		cluster.Server = bootstrap.Server
	}
	if len(cluster.CA) == 0 {
		cluster.CA = bootstrap.CA
	}
	return cluster, nil
}

// current returns the path of kubelet's current client certificate and key.
func (i *Identity) current() string { return filepath.Join(i.Dir, currentClient) }

// leafOf reads the first certificate in a file; nil when there is none.
func leafOf(path string) *x509.Certificate {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	chain, err := certificates(content)
	if err != nil {
		return nil
	}
	return chain[0]
}
