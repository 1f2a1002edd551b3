// SPDX-License-Identifier: Apache-2.0

// Package release checks files of a release that need no build.
package release

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// manifest is a Plugin of krew (sigs.k8s.io/krew/pkg/index). Its decoder rejects other fields.
type manifest struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct{ Name string }
	Spec       struct {
		Version          string
		Homepage         string
		ShortDescription string `yaml:"shortDescription"`
		Description      string
		Caveats          string
		Platforms        []struct {
			Selector struct {
				MatchLabels map[string]string `yaml:"matchLabels"`
			}
			URI    string
			Sha256 string
			Bin    string
		}
	}
}

// renderManifest runs render.sh with checksums of all platforms except the missing one.
func renderManifest(t *testing.T, version, missing string) ([]byte, error) {
	t.Helper()
	sums := ""
	for i, platform := range []string{"linux_amd64", "linux_arm64", "darwin_amd64", "darwin_arm64"} {
		if platform != missing {
			sums += fmt.Sprintf("%064x  kubectl-hcp_node_%s_%s.tar.gz\n", i+1, version, platform)
		}
	}
	file := filepath.Join(t.TempDir(), "sums")
	if err := os.WriteFile(file, []byte(sums), 0o600); err != nil {
		t.Fatal(err)
	}
	return exec.CommandContext(t.Context(), "../../packaging/krew/render.sh", version, file).Output()
}

func TestKrewManifest(t *testing.T) {
	const version = "1.2.0-rc.1"
	out, err := renderManifest(t, version, "")
	if err != nil {
		t.Fatal(err)
	}
	var got manifest
	decoder := yaml.NewDecoder(bytes.NewReader(out))
	decoder.KnownFields(true)
	if err := decoder.Decode(&got); err != nil {
		t.Fatalf("%v in\n%s", err, out)
	}
	spec := got.Spec
	if got.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || got.Kind != "Plugin" ||
		got.Metadata.Name != "hcp-node" || spec.Version != "v"+version || !strings.HasPrefix(spec.Homepage, "https://") ||
		spec.ShortDescription == "" || len(spec.ShortDescription) > 50 || spec.Description == "" {
		t.Errorf("the manifest is\n%s", out)
	}
	platforms := map[string]bool{}
	for i, platform := range spec.Platforms {
		labels := platform.Selector.MatchLabels
		name := labels["os"] + "_" + labels["arch"]
		platforms[name] = true
		uri, err := url.Parse(platform.URI)
		if err != nil || uri.Scheme != "https" ||
			!strings.HasSuffix(uri.Path, "/v"+version+"/kubectl-hcp_node_"+version+"_"+name+".tar.gz") {
			t.Errorf("the URI for %s is %s, %v", name, platform.URI, err)
		}
		if platform.Sha256 != fmt.Sprintf("%064x", i+1) || platform.Bin != "kubectl-hcp_node" {
			t.Errorf("the platform %s is %+v", name, platform)
		}
	}
	if len(platforms) != 4 || !platforms["darwin_arm64"] || !platforms["linux_amd64"] {
		t.Errorf("the platforms are %v", platforms)
	}
	if word := regexp.MustCompile(`VERSION|URL|SHA256`).Find(out); word != nil {
		t.Errorf("%s is not replaced in\n%s", word, out)
	}
}

func TestKrewManifestNeedsAllChecksums(t *testing.T) {
	if out, err := renderManifest(t, "1.2.0", "darwin_arm64"); err == nil || len(out) > 0 {
		t.Errorf("without a checksum, it prints %s", out)
	}
}
