// SPDX-License-Identifier: Apache-2.0

package nodepool

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// The command writes the examples of the documentation, with the user data.
func TestFormatsAreThoseOfTheExamples(t *testing.T) {
	for format, example := range map[Format]string{
		CloudInit: "cloud-init/first-boot.yaml", Kickstart: "kickstart/post.ks",
	} {
		want, err := os.ReadFile("../../examples/" + example)
		if err != nil {
			t.Fatal(err)
		}
		got := format.Render([]byte("CONTENT-OF-THE-USER-DATA"), "https://packages.example.com/hcp-node-agent/")
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-example +written):\n%s", format, diff)
		}
	}
}

// Without a URL, the host gets the package from a repository that it has already.
func TestFormatsWithoutRepository(t *testing.T) {
	for _, format := range []Format{CloudInit, Kickstart} {
		got := string(format.Render([]byte("{}\n"), ""))
		for _, unwanted := range []string{"REPO", "URL", "repo ", "yum", "CONTENT", "\n\n\n"} {
			if strings.Contains(got, unwanted) {
				t.Errorf("%s contains %q:\n%s", format, unwanted, got)
			}
		}
		if !strings.Contains(got, "hcp-node-agent\n") {
			t.Errorf("%s does not install the agent:\n%s", format, got)
		}
	}
}

// A file names what it does not install, because its host could otherwise not join.
func TestMissingInFirstBootFiles(t *testing.T) {
	const repository, software = "the files contain no package repository: ", "the files register no subscription"
	for name, test := range map[string]struct {
		format     Format
		repository string
		want       []string
	}{
		"cloud-init":                    {CloudInit, "", []string{repository, software}},
		"cloud-init, with a repository": {CloudInit, "https://a", []string{software}},
		"kickstart":                     {Kickstart, "", []string{repository, software}},
		"kickstart, with a repository":  {Kickstart, "https://a", []string{software}},
		"ignition":                      {Ignition, "", nil},
		"join tokens":                   {"dir", "", nil},
		"ansible":                       {"ansible", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			findings := test.format.Missing(test.repository)
			if len(findings) != len(test.want) {
				t.Fatalf("%+v", findings)
			}
			for i, want := range test.want {
				if one := findings[i]; one.Severity != report.SeverityWarning || !strings.HasPrefix(one.Message, want) ||
					one.Remedy.Command() != "" || one.RefusesJoin {
					t.Errorf("%+v does not begin with %q", one, want)
				}
			}
		})
	}
}

func TestCloudInitKeepsTheUserData(t *testing.T) {
	for _, userData := range []string{`{"a":"#: URL"}`, "{\n  \"a\": 1\n}\n"} {
		var document struct {
			Files []struct {
				Path, Permissions, Content string
			} `yaml:"write_files"`
		}
		if err := yaml.Unmarshal(CloudInit.Render([]byte(userData), "https://packages.example.com"), &document); err != nil {
			t.Fatal(err)
		}
		file := document.Files[0]
		if strings.TrimSpace(file.Content) != strings.TrimSpace(userData) || file.Permissions != "0600" {
			t.Errorf("%q becomes %+v", userData, file)
		}
	}
	if got := Ignition.Render([]byte("{}"), ""); string(got) != "{}" {
		t.Errorf("user data becomes %q", got)
	}
}

// The input of a host contains its join token instead of the user data.
func TestFormatsWithJoinToken(t *testing.T) {
	const token = "# URL\nnodeName: worker-7\nprivateKey: |\n  REPOSITORY\n" //nolint:gosec // of the test
	var document struct {
		Hostname, FQDN string
		Files          []struct {
			Path, Permissions, Content string
		} `yaml:"write_files"`
	}
	cloudInit := CloudInit.RenderToken([]byte(token), "worker-7", "https://packages.example.com")
	if err := yaml.Unmarshal(cloudInit, &document); err != nil {
		t.Fatal(err)
	}
	if file := document.Files[0]; file.Content != token || file.Path != "/etc/hcp-node-agent/node.token" ||
		file.Permissions != "0600" || document.Hostname != "worker-7" || document.FQDN != "worker-7" {
		t.Errorf("cloud-init: %+v", document)
	}
	kickstart := string(Kickstart.RenderToken([]byte(token), "worker-7", ""))
	const redirection = "umask 077\ncat >/etc/hcp-node-agent/node.token <<'JOIN_TOKEN'\n"
	if !strings.Contains(kickstart, redirection+token+"JOIN_TOKEN\n") {
		t.Errorf("kickstart:\n%s", kickstart)
	}
	for _, text := range []string{string(cloudInit), kickstart} {
		if strings.Contains(text, "user-data") || strings.Contains(text, "_") && strings.Contains(text, "_OF_") {
			t.Errorf("the input contains a placeholder or user data:\n%s", text)
		}
	}
}

// A rename would replace a device, a link or a pipe.
func TestWriteFileReplacesOnlyRegularFiles(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "target")
	names := map[string]string{"link": target, "dangling": filepath.Join(dir, "none"), "stdout": "/dev/stdout"}
	for name, to := range names {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{
		os.WriteFile(target, []byte("a"), 0o600), os.Mkdir(filepath.Join(dir, "directory"), 0o700),
		unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{
		filepath.Join(dir, "link"), filepath.Join(dir, "dangling"), filepath.Join(dir, "stdout"),
		filepath.Join(dir, "directory"), filepath.Join(dir, "pipe"), "/dev/null",
	} {
		for _, overwrite := range []bool{false, true} {
			before, err := os.Lstat(path)
			if err != nil {
				t.Fatal(err)
			}
			if path != "/dev/null" || os.Geteuid() != 0 { // which the test must not replace, should it fail
				err = WriteFile(path, []byte("a"), overwrite)
			} else {
				err = CheckReplaceable(path)
			}
			after, statErr := os.Lstat(path)
			if report.CodeOf(err) != report.Usage || statErr != nil || !os.SameFile(before, after) {
				t.Errorf("%s, overwrite %t: %v, %v", path, overwrite, err, statErr)
			}
		}
	}
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "user-data.ign")
	check := func(want string) {
		t.Helper()
		content, err := os.ReadFile(path)
		info, statErr := os.Stat(path)
		entries, dirErr := os.ReadDir(dir)
		if err != nil || statErr != nil || dirErr != nil || string(content) != want || info.Mode() != 0o600 ||
			len(entries) != 1 {
			t.Errorf("%q, mode %v, %d files, %v", content, info.Mode(), len(entries), err)
		}
	}
	write := func(content string, overwrite bool) error {
		t.Helper()
		return WriteFile(path, []byte(content), overwrite)
	}
	if err := write("a", false); err != nil {
		t.Fatal(err)
	}
	check("a")
	if err := os.Chmod(path, 0o644); err != nil { //nolint:gosec // another program has changed the mode
		t.Fatal(err)
	}
	if err := write("a", false); err != nil {
		t.Fatal(err)
	}
	check("a")
	if err := write("b", false); report.CodeOf(err) != report.Usage || !strings.Contains(err.Error(), "another content") {
		t.Errorf("writing another content: %v", err)
	}
	check("a")
	if err := write("b", true); err != nil {
		t.Fatal(err)
	}
	check("b")
	if err := WriteFile(filepath.Join(dir, "none", "file"), []byte("a"), false); err == nil {
		t.Error("a file was written in a directory that does not exist")
	}
	if err := WriteFile(dir, []byte("a"), true); err == nil {
		t.Error("a directory was replaced")
	}
	check("b")
}
