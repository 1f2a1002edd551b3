// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func writeTestFile(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// contexts returns a kubeconfig with these contexts, each with a cluster of its name. The first one is the current one.
func contexts(names ...string) string {
	var clusters, all strings.Builder
	for _, name := range names {
		fmt.Fprintf(&clusters, "{name: %[1]s, cluster: {server: 'https://%[1]s:6443', certificate-authority: ca.crt}},", name)
		fmt.Fprintf(&all, "{name: %[1]s, context: {cluster: %[1]s}},", name)
	}
	return fmt.Sprintf("{apiVersion: v1, kind: Config, current-context: %s, clusters: [%s], contexts: [%s]}",
		names[0], clusters.String(), all.String())
}

// The hosted cluster is selected as kubectl selects a cluster.
func TestSelect(t *testing.T) {
	dir := t.TempDir()
	ca := writeTestFile(t, dir, "ca.crt", "certificates")
	first := writeTestFile(t, dir, "first", contexts("a", "b"))
	second := writeTestFile(t, dir, "second", contexts("c"))
	for name, test := range map[string]struct {
		flags       Clusters
		environment string
		home        bool   // ~/.kube/config exists
		cluster     string // "" if there is an error
		err         string
	}{
		"flag":                       {Clusters{Kubeconfig: second}, first, true, "c", ""},
		"context of the flag":        {Clusters{Kubeconfig: first, Context: "b"}, "", false, "b", ""},
		"environment":                {Clusters{}, first, true, "a", ""},
		"context in a list of files": {Clusters{Context: "c"}, first + ":" + second, false, "c", ""},
		"home directory":             {Clusters{Context: "b"}, "", true, "b", ""},
		"missing file in the list":   {Clusters{}, "/gone:" + second, false, "c", ""},
		"standard input":             {Clusters{Kubeconfig: "-"}, first, true, "d", ""},
		"no kubeconfig":              {Clusters{}, "", false, "", "no kubeconfig was found"},
		"no such context":            {Clusters{Context: "x"}, first, false, "", `no context "x"`},
		"no such file":               {Clusters{Kubeconfig: "/gone"}, first, true, "", "reading the kubeconfig"},
		"another document":           {Clusters{Kubeconfig: ca}, "", true, "", "is not a kubeconfig"},
	} {
		t.Run(name, func(t *testing.T) {
			before := clientcmd.RecommendedHomeFile // is read when the process starts
			clientcmd.RecommendedHomeFile = filepath.Join(t.TempDir(), "config")
			t.Cleanup(func() { clientcmd.RecommendedHomeFile = before })
			t.Setenv("KUBECONFIG", test.environment)
			if test.home {
				home := filepath.Dir(clientcmd.RecommendedHomeFile)
				writeTestFile(t, home, "ca.crt", "certificates")
				writeTestFile(t, home, "config", contexts("a", "b"))
			}
			stdin := strings.ReplaceAll(contexts("d"), "certificate-authority: ca.crt", "certificate-authority-data: AAAA")
			test.flags.Stdin = strings.NewReader(stdin)
			selected, err := test.flags.Select()
			if test.err != "" {
				if report.CodeOf(err) != report.Usage || !strings.Contains(err.Error(), test.err) {
					t.Errorf("Select() = %v, want %q", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			config, err := clientcmd.Load(selected.Kubeconfig)
			if err != nil {
				t.Fatal(err)
			}
			cluster := config.Clusters[config.Contexts[config.CurrentContext].Cluster]
			if len(config.Contexts) != 1 || cluster.Server != "https://"+test.cluster+":6443" ||
				len(cluster.CertificateAuthorityData) == 0 {
				t.Errorf("Select() returns %s, want only cluster %s", selected.Kubeconfig, test.cluster)
			}
		})
	}
}
