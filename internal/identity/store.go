// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

const (
	identityWhy   = "the node's identity"
	currentClient = "kubelet-client-current.pem"
)

// keyPair is a client certificate with its key, both PEM.
type keyPair struct{ certificate, key []byte }

// store writes the pair to the files that kubelet reads, and then the kubeconfig
// that names them. The order is kubelet's own, so that no kubeconfig exists
// without its certificate. The ledger can restore the previous files.
func (i *Identity) store(ctx context.Context, cluster kube.Cluster, p keyPair) error {
	kubeconfig, err := encodeKubeconfig(cluster, i.clientCertificatePath())
	if err != nil {
		return err
	}
	directory := ledger.Change{
		Kind:    ledger.Directory,
		Target:  i.Dir,
		Reason:  identityWhy,
		Desired: ledger.State{Present: true},
	}
	if _, err := i.Ledger.Apply(ctx, i.Log.Step, []ledger.Change{directory}); err != nil {
		return fmt.Errorf("creating kubelet's certificate directory: %w", err)
	}
	changes, err := i.recordedChanges()
	if err != nil {
		return err
	}
	done, err := i.Ledger.TrackExternal(ctx, i.Log.Step, changes...)
	if err != nil {
		return fmt.Errorf("recording kubelet's certificates: %w", err)
	}
	if err := writePair(i.Dir, p, time.Now()); err != nil {
		return fmt.Errorf("storing the client certificate: %w", err)
	}
	if err := done(); err != nil {
		return fmt.Errorf("recording kubelet's certificates: %w", err)
	}
	return i.writeKubeconfig(ctx, kubeconfig)
}

// writePair writes a pair to dir in the format of kubelet's certificate manager
// (k8s.io/client-go/util/certificate/certificate_store.go), durably: the chain
// and the key in a file named for the time, and an absolute symbolic link to
// that file. kubelet replaces the link when it renews the certificate.
func writePair(dir string, p keyPair, now time.Time) error {
	if _, err := tls.X509KeyPair(p.certificate, p.key); err != nil {
		return fmt.Errorf("checking certificate and key: %w", err)
	}
	chain, err := kube.ParsePEMCertificates(p.certificate)
	if err != nil {
		return err
	}
	content := append(kube.EncodeCertificates(chain), p.key...)
	name := "kubelet-client-" + now.Format("2006-01-02-15-04-05") + ".pem"
	if err := hostfs.WritePrivate(dir, name, content); err != nil {
		return err
	}
	tree, err := hostfs.OpenTree(dir)
	if err != nil {
		return err
	}
	defer tree.Close()
	if err := tree.Symlink(filepath.Join(dir, name), "/"+currentClient, hostfs.AgentAttr(0)); err != nil {
		return err
	}
	return tree.SyncDir("/")
}

func (i *Identity) writeKubeconfig(ctx context.Context, content []byte) error {
	file := ledger.Change{
		Kind:    ledger.File,
		Target:  i.Kubeconfig,
		Reason:  identityWhy,
		Desired: ledger.FileState(content, 0o600),
	}
	if _, err := i.Ledger.Apply(ctx, i.Log.Step, []ledger.Change{file}); err != nil {
		return fmt.Errorf("writing kubelet's kubeconfig: %w", err)
	}
	return nil
}

// recordedChanges returns what writePair changes: the directory, and the link to the pair
// of an earlier identity, whose target would otherwise not be recorded.
func (i *Identity) recordedChanges() ([]ledger.Change, error) {
	changes := []ledger.Change{{Kind: ledger.Contents, Target: i.Dir, Reason: identityWhy}}
	_, err := os.Lstat(i.clientCertificatePath())
	switch {
	case err == nil:
		changes = append(changes,
			ledger.Change{Kind: ledger.Symlink, Target: i.clientCertificatePath(), Reason: identityWhy})
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("finding an earlier client certificate: %w", err)
	}
	return changes, nil
}

// parseBootstrapKubeconfig parses the bootstrap kubeconfig.
func parseBootstrapKubeconfig(kubeconfig []byte) (*rest.Config, kube.Cluster, error) {
	const remedy = "# fetch the payload again with current user data"
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	var cluster kube.Cluster
	if err == nil {
		cluster, err = kube.ClusterFromConfig(config)
	}
	if err != nil {
		return nil, kube.Cluster{}, report.Fail(report.Usage, remedy, "reading the bootstrap kubeconfig: %w", err)
	}
	return config, cluster, nil
}

// connectBootstrap returns a connection with the bootstrap credential, and its settings.
func (i *Identity) connectBootstrap() (*kube.Conn, *rest.Config, error) {
	config, _, err := parseBootstrapKubeconfig(i.BootstrapKubeconfig)
	if err != nil {
		return nil, nil, err
	}
	connection, err := kube.Connect(config, i.Proxy)
	return connection, config, err
}

// loadKubeconfig reads kubelet's kubeconfig. Its certificate may be missing,
// for example after an interrupted bootstrap of kubelet itself.
func loadKubeconfig(path string) (config *rest.Config, certified bool, err error) {
	file, err := clientcmd.LoadFromFile(path)
	if err == nil {
		err = clientcmd.ResolveLocalPaths(file)
	}
	if err != nil {
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

// encodeKubeconfig returns the kubeconfig that kubelet itself would write after
// its TLS bootstrap, byte for byte (writeKubeconfigFromBootstrapping in
// k8s.io/kubernetes/pkg/kubelet/certificate/bootstrap). kubelet accepts it and
// does not bootstrap again.
func encodeKubeconfig(cluster kube.Cluster, pairFile string) ([]byte, error) {
	content, err := clientcmd.Write(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"default-cluster": {
			Server:                   cluster.Server,
			CertificateAuthorityData: cluster.CA,
		}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{"default-auth": {
			ClientCertificate: pairFile,
			ClientKey:         pairFile,
		}},
		Contexts: map[string]*clientcmdapi.Context{"default-context": {
			Cluster:  "default-cluster",
			AuthInfo: "default-auth", Namespace: "default",
		}},
		CurrentContext: "default-context",
	})
	if err != nil {
		return nil, fmt.Errorf("encoding kubeconfig: %w", err)
	}
	return content, nil
}
