// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Selected is one context of a kubeconfig.
type Selected struct {
	Kubeconfig []byte // with this context only, and the content of the files to which it refers
	Config     *rest.Config
	Namespace  string // "default" if the context has none
}

// Select returns one context of an administrator's kubeconfig. It selects the file as kubectl does: file, else
// KUBECONFIG, else ~/.kube/config; and of it the context, else its current one. The file - is stdin. A kubeconfig can
// run a command that obtains the credential.
func Select(file, context string, stdin io.Reader) (*Selected, error) {
	config, err := loadKubeconfig(file, stdin)
	if err != nil {
		return nil, report.UsageError("%w", err)
	}
	if context != "" {
		config.CurrentContext = context
	}
	if len(config.Contexts) == 0 {
		return nil, report.UsageError("no kubeconfig was found: pass one with --kubeconfig or KUBECONFIG")
	}
	if _, found := config.Contexts[config.CurrentContext]; !found {
		return nil, report.UsageError("the kubeconfig has no context %q: select one with --context",
			config.CurrentContext)
	}
	selected := &Selected{}
	err = api.MinifyConfig(config)
	if err == nil {
		err = api.FlattenConfig(config)
	}
	client := clientcmd.NewDefaultClientConfig(*config, &clientcmd.ConfigOverrides{})
	if err == nil {
		selected.Kubeconfig, err = clientcmd.Write(*config)
	}
	if err == nil {
		selected.Namespace, _, err = client.Namespace()
	}
	if err == nil {
		selected.Config, err = client.ClientConfig()
	}
	if err != nil {
		return nil, report.Fail(report.Usage, "oc config view --minify # prints the selected context",
			"reading the kubeconfig: %w", err)
	}
	return selected, nil
}

func loadKubeconfig(file string, stdin io.Reader) (*api.Config, error) {
	if file != "-" {
		rules := clientcmd.NewDefaultClientConfigLoadingRules()
		rules.ExplicitPath = file
		config, err := rules.Load()
		isUnreadable := errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
		switch {
		case err != nil && file != "" && !isUnreadable: // the error contains Go types
			return nil, fmt.Errorf("%s is not a kubeconfig", file)
		case err != nil:
			return nil, fmt.Errorf("reading the kubeconfig: %w", err)
		}
		return config, nil
	}
	content, err := io.ReadAll(io.LimitReader(stdin, 1<<20))
	if err != nil {
		return nil, fmt.Errorf("reading standard input: %w", err)
	}
	config, err := clientcmd.Load(content)
	if err != nil {
		return nil, errors.New("standard input is not a kubeconfig")
	}
	return config, nil
}

// userAgent is the user agent of all requests.
const userAgent = "hcp-node-admin"

const caRemedy = "# use a kubeconfig that contains the cluster's certificate-authority-data"

// ParseKubeconfig returns the client configuration of a controller's kubeconfig, which runs no command, and the hashes
// of the cluster's CAs. An enrollment is valid for one cluster, which is identified by its CA.
func ParseKubeconfig(kubeconfig []byte) (*rest.Config, []enrollment.Hash, error) {
	config, err := kube.ParseKubeconfig(kubeconfig)
	if err != nil {
		return nil, nil, err
	}
	if err := loadFiles(config); err != nil {
		return nil, nil, err
	}
	config.UserAgent = userAgent
	hashes, err := hashCAs(config.CAData)
	return config, hashes, err
}

// loadFiles adds the content of the files to which a configuration refers.
func loadFiles(config *rest.Config) error {
	if err := rest.LoadTLSFiles(config); err != nil {
		return report.Fail(report.Usage, "# use a kubeconfig whose files exist", "reading the files of the kubeconfig: %w",
			err)
	}
	return nil
}

func hashCAs(ca []byte) ([]enrollment.Hash, error) {
	hashes, err := enrollment.CAHashes(ca)
	if err != nil {
		return nil, report.Fail(report.Usage, caRemedy, "the kubeconfig does not contain the cluster's CA: %w", err)
	}
	return hashes, nil
}

// CAOf returns the PEM CA bundle of the kubeconfig's current cluster. It neither evaluates nor uses the credentials of
// the kubeconfig.
func CAOf(kubeconfig []byte) ([]byte, error) {
	file, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return nil, report.Fail(report.Usage, caRemedy, "reading the kubeconfig: %w", err)
	}
	current := file.Contexts[file.CurrentContext]
	if current == nil || file.Clusters[current.Cluster] == nil {
		return nil, report.Fail(report.Usage, caRemedy, "reading the kubeconfig: it has no current context with a "+
			"cluster")
	}
	cluster := file.Clusters[current.Cluster]
	config := &rest.Config{TLSClientConfig: rest.TLSClientConfig{
		CAFile: cluster.CertificateAuthority, CAData: cluster.CertificateAuthorityData,
	}}
	if err := loadFiles(config); err != nil {
		return nil, err
	}
	if len(config.CAData) == 0 {
		return nil, report.Fail(report.Usage, caRemedy+", or pass the CA: --ca FILE", "the kubeconfig contains "+
			"no CA of the cluster")
	}
	return config.CAData, nil
}
