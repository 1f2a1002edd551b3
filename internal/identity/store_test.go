// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"bytes"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/util/certificate"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger/resource"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
)

func issuedPair(t *testing.T, ca *certtest.CA) keyPair {
	t.Helper()
	key := certtest.NewKey(t)
	return keyPair{certificate: ca.Issue(t, key, nodeCertificate("worker-1")), key: certtest.KeyPEM(t, key)}
}

// kubeletStore returns the certificate store implementation of kubelet.
func kubeletStore(t *testing.T, dir string) certificate.FileStore {
	t.Helper()
	store, err := certificate.NewFileStoreWithLogger(logr.Discard(), "kubelet-client", dir, dir, "", "")
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func leafIn(t *testing.T, dir string) *x509.Certificate {
	t.Helper()
	current, err := kubeletStore(t, dir).Current()
	if err != nil {
		t.Fatal(err)
	}
	return current.Leaf
}

func TestKubeletReadsAndRenewsKeyPair(t *testing.T) {
	ca := certtest.NewCA(t, "signer")
	issued, renewed, second := issuedPair(t, ca), issuedPair(t, ca), issuedPair(t, ca)
	intermediate := certtest.NewCA(t, "intermediate")
	issued.certificate = append(append([]byte("a text that is no certificate\n"), issued.certificate...),
		intermediate.PEM...)

	dir, kubeletDir := t.TempDir(), t.TempDir()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.Local)
	if err := writePair(dir, issued, now); err != nil {
		t.Fatal(err)
	}
	if !leafIn(t, dir).Equal(leafOf(t, issued.certificate)) {
		t.Error("kubelet reads another certificate")
	}
	name := filepath.Join(dir, "kubelet-client-2026-03-01-12-00-00.pem")
	if target, err := os.Readlink(filepath.Join(dir, currentClient)); err != nil || target != name {
		t.Errorf("%s links to %q, %v", currentClient, target, err)
	}
	if info, err := os.Lstat(name); err != nil || info.Mode() != 0o600 {
		t.Errorf("%s: %v, %v", name, info.Mode(), err)
	}

	// The bytes are those that kubelet writes.
	if _, err := kubeletStore(t, kubeletDir).Update(issued.certificate, issued.key); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join(kubeletDir, currentClient))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v; got\n%s\nwant\n%s", err, got, want)
	}

	if _, err := kubeletStore(t, dir).Update(renewed.certificate, renewed.key); err != nil {
		t.Errorf("kubelet cannot renew the certificate: %v", err)
	}
	if !leafIn(t, dir).Equal(leafOf(t, renewed.certificate)) {
		t.Error("kubelet does not read the renewed certificate")
	}
	if err := writePair(dir, second, now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if !leafIn(t, dir).Equal(leafOf(t, second.certificate)) {
		t.Error("kubelet does not read the second certificate of the agent")
	}
}

func TestMismatchedKeyPairIsNotWritten(t *testing.T) {
	ca, dir := certtest.NewCA(t, "signer"), t.TempDir()
	if err := writePair(dir, keyPair{certificate: issuedPair(t, ca).certificate, key: issuedPair(t, ca).key},
		time.Now()); err == nil {
		t.Error("a certificate for another key was written")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("files were written: %v, %v", entries, err)
	}
}

func TestUndoRestoresReplacedCertificateLink(t *testing.T) {
	tree, err := hostfs.OpenTree("/")
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	state, kubelet := t.TempDir(), t.TempDir()
	book, err := ledger.Open(state, ledger.Drivers{
		Paths:     &ledger.Paths{Tree: tree},
		Snapshots: map[ledger.Kind]ledger.SnapshotDriver{ledger.Contents: &resource.DirSnapshot{Tree: tree}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer book.Close()
	identity := &Identity{
		Dir:        filepath.Join(kubelet, "pki"),
		Kubeconfig: filepath.Join(kubelet, "kubeconfig"),
		Ledger:     book,
		Log:        (&reporttest.Recorder{}).Log(),
	}
	if err := os.Mkdir(identity.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(identity.clientCertificatePath(), []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	ca := certtest.NewCA(t, "signer")
	issued := issuedPair(t, ca)
	if err := identity.store(t.Context(), kube.Cluster{Server: "https://api.example.com:6443", CA: ca.PEM},
		issued); err != nil {
		t.Fatal(err)
	}
	if !leafIn(t, identity.Dir).Equal(leafOf(t, issued.certificate)) {
		t.Error("kubelet reads another certificate")
	}
	if _, err := book.Undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(identity.clientCertificatePath()); err != nil || string(content) != "before" {
		t.Errorf("after undo: %q, %v", content, err)
	}
	if entries, err := os.ReadDir(identity.Dir); err != nil || len(entries) != 1 {
		t.Errorf("after undo: %v, %v; want %s alone", entries, err, currentClient)
	}
}

// leafOf returns the first certificate in PEM data.
func leafOf(t *testing.T, content []byte) *x509.Certificate {
	t.Helper()
	leaf, err := parseLeaf(content)
	if err != nil {
		t.Fatal(err)
	}
	return leaf
}
