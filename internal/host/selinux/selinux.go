// SPDX-License-Identifier: Apache-2.0

package selinux

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
)

// Policy returns and sets the labels that the policy defines for the paths of
// a tree: the running host's policy for the running host, an image's own for an
// image. It does nothing if the kernel has no SELinux.
type Policy struct{ Tree *hostfs.Tree }

// Labels returns the label that the policy defines for each path, given the
// file type to create. It omits paths for which the policy has none. Without
// matchpathcon (of libselinux-utils) it omits all.
func (p Policy) Labels(ctx context.Context, types map[string]hostfs.FileType) (map[string][]byte, error) {
	if !hostinfo.IsSELinuxEnabled() {
		return nil, nil
	}
	var policy []string
	if !p.Tree.IsLive() {
		contexts, err := p.imageContexts()
		if err != nil || contexts == nil {
			return nil, err
		}
		defer contexts.Close()
		policy = fileContextsArguments(contexts)
	}
	return policyLabels(ctx, policy, types)
}

// fileContextsArguments returns the arguments that select the file contexts in an open
// directory. The path goes through a descriptor of this process, because
// another process reads it.
func fileContextsArguments(dir *os.File) []string {
	return []string{"-f", fmt.Sprintf("/proc/%d/fd/%d/file_contexts", os.Getpid(), dir.Fd())}
}

// policyLabels runs matchpathcon as often as necessary for the file types and
// the length of a command line.
func policyLabels(ctx context.Context, policy []string, types map[string]hostfs.FileType) (map[string][]byte, error) {
	labels := map[string][]byte{}
	for _, query := range labelQueries(types) {
		args := append([]string{"-N", "-m", query.class}, policy...)
		out, err := command.Run(ctx, "matchpathcon", append(append(args, "--"), query.paths...)...)
		if errors.Is(err, command.ErrNotInstalled) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading labels from the SELinux policy: %w", err)
		}
		maps.Copy(labels, parseLabels(out))
	}
	return labels, nil
}

// imageContexts opens the directory of an image's file contexts. It returns nil
// if the image has no policy.
func (p Policy) imageContexts() (*os.File, error) {
	const etc = "/etc/selinux"
	config, _, err := p.Tree.ReadFile(etc + "/config")
	if hostfs.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	name := hostinfo.ParseEnv(config)["SELINUXTYPE"]
	if name == "" || name != path.Base(name) {
		return nil, nil
	}
	dir := path.Join(etc, name, "contexts/files")
	info, err := p.Tree.Lstat(path.Join(dir, "file_contexts"))
	if err != nil || info.Type != hostfs.Regular {
		return nil, err
	}
	return p.Tree.OpenDir(dir)
}

// Relabel sets the labels of paths according to the policy. In an image it does
// nothing, because files get their labels when they are created.
func (p Policy) Relabel(ctx context.Context, paths []string) error {
	if !p.Tree.IsLive() || !hostinfo.IsSELinuxEnabled() || len(paths) == 0 {
		return nil
	}
	_, err := command.RunInput(ctx, []byte(strings.Join(paths, "\x00")+"\x00"), "restorecon", "-i", "-F", "-0", "-f", "-")
	return err
}
