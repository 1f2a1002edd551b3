// SPDX-License-Identifier: Apache-2.0

// Package conformance runs Kubernetes' own conformance tests of sig-node and sig-network on nodes that the agent has
// joined. selection.yaml lists which, and why the others are not run.
package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/test/bed"
)

// Suite is the program with the tests, and the control plane of the nodes.
type Suite struct {
	plane     *bed.ControlPlane
	directory string // of what build.sh builds
	logs      string // directory
	images    string // file that directs the tests to images in the registry of the control plane
	selection selection
	pullSpecs map[string]string // of the images, by name
}

// Prepare builds the tests, which takes many minutes without a cache, and pushes their images. Run writes to the
// directory logs.
func Prepare(ctx context.Context, plane *bed.ControlPlane, repository, logs string) (*Suite, error) {
	if err := os.MkdirAll(logs, 0o750); err != nil {
		return nil, fmt.Errorf("creating the directory of the logs: %w", err)
	}
	var out bytes.Buffer
	command := exec.CommandContext(ctx, filepath.Join(repository, "test/vm/conformance/build.sh"))
	command.Stdout, command.Stderr = &out, os.Stderr
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("building the conformance tests: %w", err)
	}
	s := &Suite{
		plane: plane, directory: strings.TrimSpace(out.String()), logs: logs, images: filepath.Join(logs, "images.yaml"),
	}
	var err error
	if s.selection, err = parseSelection(selectionFile); err != nil {
		return nil, err
	}
	registries := map[string]string{"promoterE2eRegistry": plane.Registry + "/e2e", "gcRegistry": plane.Registry + "/k8s"}
	content, err := yaml.Marshal(registries)
	if err != nil {
		return nil, fmt.Errorf("encoding the list of registries: %w", err)
	}
	if err := os.WriteFile(s.images, content, 0o600); err != nil {
		return nil, fmt.Errorf("writing the list of registries: %w", err)
	}
	listed, err := s.output(ctx, "--list-images")
	if err != nil {
		return nil, err
	}
	s.pullSpecs, err = pushImages(plane, s.directory, strings.Fields(listed))
	return s, err
}

// DNS returns the path of CoreDNS.
func (s *Suite) DNS() string { return filepath.Join(s.directory, "coredns") }

// Run runs the default tests, or all, and returns their results. An error means that they could not be run.
func (s *Suite) Run(ctx context.Context, all bool) (*Result, error) {
	listed, err := s.output(ctx, "--list-conformance-tests")
	if err != nil {
		return nil, err
	}
	names, err := parseList(listed)
	if err != nil {
		return nil, err
	}
	plan, err := s.selection.choose(names, all)
	if err != nil {
		return nil, err
	}
	bin, err := bed.Build(ctx)
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(s.logs, "e2e.log"))
	if err != nil {
		return nil, fmt.Errorf("opening the log of the tests: %w", err)
	}
	defer log.Close()
	command := s.command(ctx, "--kubeconfig", s.plane.Kubeconfig, "--provider", "skeleton",
		"--kubectl-path", filepath.Join(bin, "kubectl"), "--report-dir", s.logs, "--disable-log-dump",
		"--ginkgo.focus", focus(plan.run), "--ginkgo.timeout", "24h", "--ginkgo.no-color", "--ginkgo.v", "-test.timeout", "0")
	command.Stdout, command.Stderr = log, log
	// It exits with 1 if a test has failed; the results are in its report.
	runErr := command.Run()
	result, err := readReport(filepath.Join(s.logs, "junit_01.xml"), plan, s.selection.Groups)
	if err != nil {
		return nil, fmt.Errorf("the output of the tests is in %s: %w", log.Name(), errors.Join(err, runErr))
	}
	return result, os.WriteFile(filepath.Join(s.logs, "conformance.md"), []byte(result.Markdown()), 0o600)
}

// command returns a command of the program with the tests.
func (s *Suite) command(ctx context.Context, arguments ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, filepath.Join(s.directory, "e2e.test"), arguments...)
	command.Env = append(os.Environ(), "KUBE_TEST_REPO_LIST="+s.images)
	return command
}

func (s *Suite) output(ctx context.Context, arguments ...string) (string, error) {
	var stderr strings.Builder
	command := s.command(ctx, arguments...)
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		err = fmt.Errorf("e2e.test %s: %w: %s", strings.Join(arguments, " "), err, stderr.String())
	}
	return string(out), err
}

// parseList returns the names of the tests in Kubernetes' list of conformance tests.
func parseList(content string) ([]string, error) {
	var list []struct {
		Codename string `json:"codename"`
	}
	if err := yaml.Unmarshal([]byte(content), &list); err != nil {
		return nil, fmt.Errorf("decoding the list of conformance tests: %w", err)
	}
	var names []string
	for _, test := range list {
		names = append(names, test.Codename)
	}
	return names, nil
}

// focus returns an expression that matches the names of tests.
func focus(names []string) string {
	var quoted []string
	for _, name := range names {
		quoted = append(quoted, regexp.QuoteMeta(name))
	}
	return strings.Join(quoted, "|")
}
