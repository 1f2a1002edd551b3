// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"
	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/autojoin"
)

// ansibleTask has the keywords that the example role uses, and the arguments of its modules.
type ansibleTask struct {
	Name     string         `json:"name"`
	Block    []ansibleTask  `json:"block,omitempty"`
	Loop     []any          `json:"loop,omitempty"`
	When     string         `json:"when,omitempty"`
	Register string         `json:"register,omitempty"`
	NoLog    bool           `json:"no_log,omitempty"`
	Repo     map[string]any `json:"ansible.builtin.yum_repository,omitempty"`
	DNF      map[string]any `json:"ansible.builtin.dnf,omitempty"`
	Stat     map[string]any `json:"ansible.builtin.stat,omitempty"`
	Copy     map[string]any `json:"ansible.builtin.copy,omitempty"`
	Systemd  map[string]any `json:"ansible.builtin.systemd,omitempty"`
}

// modules returns the arguments of the modules that a task calls.
func (t ansibleTask) modules() []map[string]any {
	return slices.DeleteFunc([]map[string]any{t.Repo, t.DNF, t.Stat, t.Copy, t.Systemd},
		func(m map[string]any) bool { return m == nil })
}

// The Ansible role installs the package with checked signatures, copies the secrets for root only, without logging
// them and the user data last, and starts the service without waiting for it.
func TestAnsibleRole(t *testing.T) {
	root := "../../examples/ansible"
	role := root + "/roles/hcp_node_agent"
	var blocks, tasks []ansibleTask
	readYAML(t, role+"/tasks/main.yaml", &blocks)
	for _, block := range blocks {
		if block.Name == "" || (len(block.Block) > 0) == (len(block.modules()) > 0) {
			t.Errorf("%+v is neither a named block nor a named task", block)
		}
		tasks = append(tasks, block)
		tasks = append(tasks, block.Block...)
	}
	var names []string // of the files in /etc/hcp-node-agent, in the order in which they are created
	var repo, installed, started bool
	for _, task := range tasks {
		if task.Name == "" || len(task.Block) == 0 && len(task.modules()) != 1 {
			t.Errorf("%+v has no name, or not one module", task)
		}
		repo = repo || task.Repo["gpgcheck"] == true
		installed = installed || repo && task.DNF["name"] == "hcp-node-agent"
		if task.Copy != nil {
			if task.Copy["mode"] != "0600" || task.Copy["owner"] != "root" {
				t.Errorf("%q copies with mode %v and owner %v", task.Name, task.Copy["mode"], task.Copy["owner"])
			}
			for _, item := range task.Loop {
				names = append(names, fmt.Sprint(item.(map[string]any)["name"]))
			}
			if task.Copy["src"] != nil && (!task.NoLog || !strings.Contains(task.When, "not hcp_node_agent_join.stat.exists")) {
				t.Errorf("%q is logged, or runs on a host that has a join", task.Name)
			}
		}
		if task.Systemd != nil {
			started = task.Systemd["enabled"] == true && task.Systemd["state"] == "started" &&
				task.Systemd["no_block"] == true && slices.Contains(task.Loop, any("hcp-node-agent.service"))
		}
	}
	if !repo || !installed || !started {
		t.Errorf("checks packages: %t, installs: %t, starts the service: %t", repo, installed, started)
	}
	if diff := cmp.Diff([]string{"node.token", "user-data.ign"}, names); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}

	var variables struct {
		Settings   map[string]any `json:"hcp_node_agent_settings"`
		Repository string         `json:"hcp_node_agent_repository"`
		UserData   string         `json:"hcp_node_agent_user_data"`
		Token      string         `json:"hcp_node_agent_join_token"`
	}
	readYAML(t, role+"/defaults/main.yaml", &variables)
	settings, err := yaml.Marshal(variables.Settings)
	if err != nil {
		t.Fatal(err)
	}
	checkConfigLoads(t, string(settings))

	var inventory map[string]struct {
		Hosts map[string]map[string]string `json:"hosts"`
	}
	readYAML(t, root+"/inventory.yaml", &inventory)
	var plays []struct {
		Name   string   `json:"name"`
		Hosts  string   `json:"hosts"`
		Become bool     `json:"become"`
		Roles  []string `json:"roles"`
	}
	readYAML(t, root+"/join.yaml", &plays)
	for _, play := range plays {
		if len(inventory[play.Hosts].Hosts) == 0 || !play.Become || !slices.Equal(play.Roles, []string{"hcp_node_agent"}) {
			t.Errorf("%+v", play)
		}
	}
	if len(plays) != 1 {
		t.Errorf("%d plays", len(plays))
	}

	// ansible-core is not required to run the tests.
	if ansible, err := exec.LookPath("ansible-playbook"); err == nil {
		mustRun(t, root, ansible, "-i", "inventory.yaml", "join.yaml", "--syntax-check")
	}
}

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
	content, err := os.ReadFile(file)
	if err == nil {
		err = toml.NewDecoder(bytes.NewReader(content)).DisallowUnknownFields().Decode(to)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
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
