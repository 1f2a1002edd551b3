package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
)

// SELinux knows which labels the policy has for the paths of a tree: the
// running machine's policy for the running machine, an image's own for an
// image. Where the kernel has no SELinux it does nothing.
type SELinux struct{ Tree *Tree }

// Labels asks the policy for the label that each path shall have, given what is
// to be made there. A path for which the policy has none is not in the answer;
// without matchpathcon (of libselinux-utils) none is.
func (s SELinux) Labels(ctx context.Context, types map[string]FileType) (map[string][]byte, error) {
	if !selinuxOn() {
		return nil, nil
	}
	var policy []string
	if !s.Tree.Live() {
		contexts, err := s.imageContexts()
		if err != nil || contexts == nil {
			return nil, err
		}
		defer contexts.Close()
		policy = contextsOf(contexts)
	}
	return policyLabels(ctx, policy, types)
}

// contextsOf names the file contexts in an open directory, as a descriptor of
// this process: the program that reads them is another.
func contextsOf(dir *os.File) []string {
	return []string{"-f", fmt.Sprintf("/proc/%d/fd/%d/file_contexts", os.Getpid(), dir.Fd())}
}

// policyLabels runs matchpathcon as often as the types and the length of a
// command line ask for.
func policyLabels(ctx context.Context, policy []string, types map[string]FileType) (map[string][]byte, error) {
	labels := map[string][]byte{}
	for _, ask := range questions(types) {
		args := append([]string{"-N", "-m", ask.class}, policy...)
		out, err := Run(ctx, "matchpathcon", append(append(args, "--"), ask.paths...)...)
		if errors.Is(err, ErrNoProgram) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("asking the SELinux policy for labels: %w", err)
		}
		for p, label := range parseLabels(out) {
			labels[p] = label
		}
	}
	return labels, nil
}

// imageContexts opens the directory of an image's file contexts; nil means that
// the image has no policy.
func (s SELinux) imageContexts() (*os.File, error) {
	const etc = "/etc/selinux"
	config, _, err := s.Tree.ReadFile(etc + "/config")
	if absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	name := ParseEnv(config)["SELINUXTYPE"]
	if name == "" || name != path.Base(name) {
		return nil, nil
	}
	dir := path.Join(etc, name, "contexts/files")
	info, err := s.Tree.Lstat(path.Join(dir, "file_contexts"))
	if err != nil || info.Type != Regular {
		return nil, err
	}
	return s.Tree.openDir(dir)
}

// Relabel sets the labels of paths as the policy has them. In an image the
// labels are those that new things got when they were made.
func (s SELinux) Relabel(ctx context.Context, paths []string) error {
	if !s.Tree.Live() || !selinuxOn() || len(paths) == 0 {
		return nil
	}
	_, err := RunInput(ctx, []byte(strings.Join(paths, "\x00")+"\x00"), "restorecon", "-i", "-F", "-0", "-f", "-")
	return err
}

func selinuxOn() bool {
	return selinuxMode(firstLine("/sys/fs/selinux/enforce"), firstLine("/proc/self/attr/current")) != "disabled"
}
