package kubelet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/client-go/util/certificate"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

const identityWhy = "the node's identity"

// pair is a client certificate with its key, PEM.
type pair struct{ certificate, key []byte }

// store puts the pair where kubelet looks for it, with client-go's own
// certificate store, and then the kubeconfig that names it: in kubelet's own
// order, so that a kubeconfig is never there without its certificate. All of
// it can be given back by the ledger.
func (i *Identity) store(ctx context.Context, cluster Cluster, p pair) error {
	kubeconfig, err := kubeconfigFor(cluster, i.current())
	if err != nil {
		return err
	}
	directory := ledger.Change{Kind: ledger.Directory, Target: i.Dir, Why: identityWhy, Want: ledger.State{Present: true}}
	if _, err := i.Ledger.Apply(ctx, i.Log.Step, []ledger.Change{directory}); err != nil {
		return fmt.Errorf("making kubelet's certificate directory: %w", err)
	}
	changes, err := i.stored()
	if err != nil {
		return err
	}
	done, err := i.Ledger.Bracket(ctx, i.Log.Step, changes...)
	if err != nil {
		return fmt.Errorf("recording kubelet's certificates: %w", err)
	}
	files, err := certificate.NewFileStoreWithLogger(logr.Discard(), "kubelet-client", i.Dir, i.Dir, "", "")
	if err != nil {
		return fmt.Errorf("opening kubelet's certificate store: %w", err)
	}
	if _, err := files.Update(p.certificate, p.key); err != nil {
		return fmt.Errorf("storing the client certificate: %w", err)
	}
	if err := syncDirectory(i.Dir); err != nil {
		return err
	}
	if err := done(); err != nil {
		return fmt.Errorf("recording kubelet's certificates: %w", err)
	}
	return i.writeKubeconfig(ctx, kubeconfig)
}

func (i *Identity) writeKubeconfig(ctx context.Context, content []byte) error {
	file := ledger.Change{Kind: ledger.File, Target: i.Kubeconfig, Why: identityWhy, Want: ledger.FileState(content, 0o600)}
	if _, err := i.Ledger.Apply(ctx, i.Log.Step, []ledger.Change{file}); err != nil {
		return fmt.Errorf("writing kubelet's kubeconfig: %w", err)
	}
	return nil
}

// stored is what the certificate store touches: the directory, and the link to
// the pair of an earlier identity, whose target would otherwise be forgotten.
func (i *Identity) stored() ([]ledger.Change, error) {
	changes := []ledger.Change{{Kind: ledger.Contents, Target: i.Dir, Why: identityWhy}}
	_, err := os.Lstat(i.current())
	switch {
	case err == nil:
		changes = append(changes, ledger.Change{Kind: ledger.Link, Target: i.current(), Why: identityWhy})
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("looking for an earlier client certificate: %w", err)
	}
	return changes, nil
}
