// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/autojoin"
)

// The files of image builder have only known keys, check signatures, and name the same repository.
func TestImageBuilderExample(t *testing.T) {
	var blueprint struct {
		Name           string                           `toml:"name"`
		Description    string                           `toml:"description"`
		Version        string                           `toml:"version"`
		Packages       []struct{ Name, Version string } `toml:"packages"`
		Customizations struct {
			Repositories []struct {
				ID       string   `toml:"id"`
				Name     string   `toml:"name"`
				Filename string   `toml:"filename"`
				BaseURLs []string `toml:"baseurls"`
				GPGKeys  []string `toml:"gpgkeys"`
				GPGCheck bool     `toml:"gpgcheck"`
				Enabled  bool     `toml:"enabled"`
			} `toml:"repositories"`
			Services struct {
				Enabled []string `toml:"enabled"`
			} `toml:"services"`
		} `toml:"customizations"`
	}
	readTOML(t, "../../examples/image-builder/hcp-node-agent.toml", &blueprint)
	var source struct {
		ID       string   `toml:"id"`
		Name     string   `toml:"name"`
		Type     string   `toml:"type"`
		URL      string   `toml:"url"`
		CheckGPG bool     `toml:"check_gpg"`
		CheckSSL bool     `toml:"check_ssl"`
		GPGKeys  []string `toml:"gpgkeys"`
	}
	readTOML(t, "../../examples/image-builder/source.toml", &source)
	if len(blueprint.Packages) == 0 || blueprint.Packages[0].Name != "hcp-node-agent" {
		t.Errorf("packages: %+v", blueprint.Packages)
	}
	repositories := blueprint.Customizations.Repositories
	if len(repositories) != 1 || !repositories[0].GPGCheck || !source.CheckGPG || !source.CheckSSL ||
		!slices.Equal(repositories[0].BaseURLs, []string{source.URL}) ||
		!slices.Equal(repositories[0].GPGKeys, source.GPGKeys) {
		t.Errorf("repositories: %+v, source: %+v", repositories, source)
	}
	for _, unit := range blueprint.Customizations.Services.Enabled {
		if _, err := os.Stat("../../systemd/" + unit); err != nil {
			t.Error(err)
		}
	}
}

// The cloud-init user data of the Terraform example is valid with the values that main.tf passes, and contains the join
// token and the user data as the service reads them.
func TestTerraformExample(t *testing.T) {
	dir := "../../examples/terraform"
	configuration, err := os.ReadFile(dir + "/main.tf")
	if err != nil {
		t.Fatal(err)
	}
	template, err := os.ReadFile(dir + "/cloud-config.yaml.tftpl")
	if err != nil {
		t.Fatal(err)
	}
	_, call, found := strings.Cut(string(configuration), `templatefile("${path.module}/cloud-config.yaml.tftpl", {`)
	call, _, closed := strings.Cut(call, "})")
	if !found || !closed {
		t.Fatalf("main.tf does not use the template:\n%s", configuration)
	}
	values := map[string]string{
		"name":       "worker-7.example.com",
		"repository": "https://packages.example.com/hcp-node-agent",
		"token":      base64.StdEncoding.EncodeToString([]byte("{\n\t\"token\": \"#:\"\n}\n")),
		"user_data":  base64.StdEncoding.EncodeToString([]byte(`{"ignition": {"version": "3.2.0"}}`)),
	}
	used := map[string]bool{}
	document := regexp.MustCompile(`\$\{(\w+)\}`).ReplaceAllStringFunc(string(template), func(match string) string {
		name := match[2 : len(match)-1]
		value, known := values[name]
		if used[name] = true; !known || !regexp.MustCompile(`(?m)^ *`+name+` += \S`).MatchString(call) {
			t.Errorf("main.tf does not pass %s", name)
		}
		return value
	})
	if len(used) != len(values) {
		t.Errorf("the template uses %v", used)
	}
	files := map[string]string{}
	for _, file := range checkCloudConfig(t, []byte(document)).WriteFiles {
		content, err := base64.StdEncoding.DecodeString(file.Content)
		if err != nil || file.Encoding != "b64" {
			t.Errorf("%s: %q, %v", file.Path, file.Encoding, err)
		}
		files[file.Path] = base64.StdEncoding.EncodeToString(content)
	}
	want := map[string]string{
		autojoin.DefaultDir + "/node.token":    values["token"],
		autojoin.DefaultDir + "/user-data.ign": values["user_data"],
	}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}

	// Terraform is not required to run the tests. terraform_data is built in, so no provider is downloaded.
	if terraform, err := exec.LookPath("terraform"); err == nil {
		work := filepath.Join(t.TempDir(), "terraform")
		if err := os.CopyFS(work, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		mustRun(t, work, terraform, "fmt", "-check", "-diff")
		mustRun(t, work, terraform, "init", "-backend=false")
		mustRun(t, work, terraform, "validate")
	}
}

func readYAML(t *testing.T, file string, to any) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err == nil {
		err = yaml.UnmarshalStrict(content, to)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func readTOML(t *testing.T, file string, to any) {
	t.Helper()
	metadata, err := toml.DecodeFile(file, to)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if unknown := metadata.Undecoded(); len(unknown) > 0 {
		t.Fatalf("%s: unknown keys %v", file, unknown)
	}
}

func mustRun(t *testing.T, dir, program string, args ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, args...)
	command.Dir = dir
	command.Env = append(os.Environ(), "CHECKPOINT_DISABLE=1", "ANSIBLE_LOCAL_TEMP="+t.TempDir())
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("%s %q: %v\n%s", program, args, err, out)
	}
}
