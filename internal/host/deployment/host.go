// SPDX-License-Identifier: Apache-2.0

package deployment

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/bootloader"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/hostclass"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

// AuthFile contains the credentials with which bootc and rpm-ostree pull images. Its directory is empty after a boot.
// It takes precedence over the files in /etc and /usr (bootc, crates/ostree-ext/src/globals.rs).
const AuthFile = "/run/ostree/auth.json"

// Host changes the deployments of this host. Its methods require root, and change only what boots next. If a method
// is interrupted, it can be called again.
type Host struct {
	backend  backend
	files    *hostfs.Tree
	progress func(line string)
}

// NewHost returns the Host of a class in image mode, whose files are in a tree. progress is called for each line of
// progress that the programs print; it may be nil.
func NewHost(class hostclass.Class, files *hostfs.Tree, progress func(line string)) *Host {
	return &Host{backend: backendOf(class), files: files, progress: progress}
}

// Status returns the deployments of the host.
func (h *Host) Status(ctx context.Context) (*Status, error) { return h.backend.read(ctx) }

// Target describes the deployment to stage.
type Target struct {
	Image string // NAME@DIGEST
	// AddArguments and RemoveArguments are changes of the kernel arguments. Arguments in both lists are kept.
	AddArguments, RemoveArguments []string
	// Revert returns a kernel command line without the changes for an earlier payload, which are reverted first. nil:
	// there are none.
	Revert     func(words []string) []string
	PullSecret string // path of a file in the format of .dockerconfigjson; empty: there is none
	// Environment contains proxy variables, NAME=VALUE, for bootc. They have no effect on rpm-ostree, whose daemon pulls
	// the image: it has the proxy of the payload from a drop-in, rpm-ostreed.service.d/10-mco-default-env.conf.
	Environment []string
}

// digest returns the digest of the image.
func (t Target) digest() (string, error) {
	name, digest, _ := strings.Cut(t.Image, "@")
	if hash, found := strings.CutPrefix(digest, "sha256:"); name == "" || !found || len(hash) != 64 ||
		strings.Trim(hash, "0123456789abcdef") != "" {
		return "", fmt.Errorf("image %q has no digest (NAME@sha256:DIGEST)", t.Image)
	}
	return digest, nil
}

// Stage makes the image boot next with the kernel arguments. It pulls the image, which can take minutes. It does
// nothing if the image already boots next, and refuses if another deployment does, or if CheckStageable has findings.
func (h *Host) Stage(ctx context.Context, target Target) error {
	digest, err := target.digest()
	if err != nil {
		return err
	}
	hasArguments := len(target.AddArguments)+len(target.RemoveArguments) > 0 || target.Revert != nil
	if hasArguments && !command.Exists("rpm-ostree") {
		return report.Fail(report.Refused, "# add rpm-ostree to the image of this host, and update the host to it",
			"the kernel arguments of the image cannot be set: rpm-ostree is not installed")
	}
	status, err := h.Status(ctx)
	if err != nil {
		return err
	}
	if !status.boots(digest) {
		if err := report.Refusal(CheckStageable(*status, digest)); err != nil {
			return err
		}
		if err := h.linkAuthFile(target.PullSecret); err != nil {
			return err
		}
		stage := append(slices.Clone(h.backend.stage), h.backend.scheme+target.Image)
		if err := h.run(ctx, target.Environment, stage...); err != nil {
			return explain(err, target.Image)
		}
	}
	if !hasArguments {
		return nil
	}
	// The changed deployment replaces the staged one.
	loader := bootloader.Find(true)
	words, err := loader.Arguments(ctx)
	if err != nil {
		return fmt.Errorf("reading the kernel arguments of image %s: %w", target.Image, err)
	}
	next := target.next(words)
	isSet := !slices.Contains(bootloader.AreSet(words, target.AddArguments), false)
	if slices.Equal(words, next) || (isSet && bootloader.HaveSameWords(words, next)) {
		return nil
	}
	change := append([]string{"rpm-ostree", "kargs"}, bootloader.KargsFlags(words, next)...)
	return wrap.Errorf(h.run(ctx, nil, change...), "setting the kernel arguments of image %s", target.Image)
}

// boots reports whether the next boot runs the image with the digest, and is no rollback.
func (s Status) boots(digest string) bool {
	next := s.Booted
	if s.Staged != nil {
		next = *s.Staged
	}
	return next.HasDigest(digest) && !s.RollbackQueued
}

// next returns the words of a kernel command line with the arguments of the target.
func (t Target) next(words []string) []string {
	if t.Revert != nil {
		words = t.Revert(words)
	}
	remove := slices.DeleteFunc(bootloader.Split(strings.Join(t.RemoveArguments, " ")), func(word string) bool {
		return slices.ContainsFunc(t.AddArguments, func(argument string) bool {
			return slices.Contains(bootloader.Split(argument), word)
		})
	})
	return bootloader.Next(words, t.AddArguments, remove)
}

// linkAuthFile makes AuthFile a link to the pull secret, which disappears at the next boot. A file of another program
// remains: the machine-config-daemon, for example, creates a link to the same pull secret.
func (h *Host) linkAuthFile(pullSecret string) error {
	if pullSecret == "" {
		return nil
	}
	info, err := h.files.Lstat(AuthFile)
	if err != nil {
		return err
	}
	if info.Type == hostfs.Symlink {
		exists, err := h.files.Exists(info.Link)
		if err != nil || exists {
			return err
		}
	} else if info.Type != hostfs.Absent {
		return nil
	}
	if err := h.files.MkdirAll("/run/ostree"); err != nil {
		return err
	}
	return h.files.Symlink(pullSecret, AuthFile, hostfs.AgentAttr(0o777))
}

// run runs a command that changes deployments, with additional variables.
func (h *Host) run(ctx context.Context, environment []string, argv ...string) error {
	_, _, err := command.Streaming{Name: argv[0], Args: argv[1:], Env: environment, OnLine: h.progress}.Run(ctx)
	return err
}

// DropStaged removes the staged deployment if it is of the image with the digest. It refuses if another one is staged.
//
// bootc has no command for it, other than two rollbacks. RHEL bootc contains rpm-ostree.
func (h *Host) DropStaged(ctx context.Context, digest string) error {
	status, err := h.Status(ctx)
	if err != nil || status.Staged == nil {
		return err
	}
	// rpm-ostree cleanup removes all deployments before the booted one.
	if err := report.Refusal(checkNext(*status, digest)); err != nil {
		return fmt.Errorf("removing the staged deployment: %w", err)
	}
	if err := h.run(ctx, nil, "rpm-ostree", "cleanup", "-p"); err != nil {
		return fmt.Errorf("removing the staged deployment: %w", err)
	}
	return nil
}

// Rollback makes the previous deployment boot next, which must be of the image with the digest. It removes a staged
// deployment, which must be of the image with the digest staged: bootc would remove any, and rpm-ostree refuses.
//
// A second rollback would revert the first, so that Rollback does nothing if a rollback is already queued.
func (h *Host) Rollback(ctx context.Context, digest, staged string) error {
	status, err := h.Status(ctx)
	switch {
	case err != nil:
		return err
	case status.Rollback == nil:
		return report.Fail(report.Refused, statusRemedy, "the host has no previous deployment, but must be rolled back to %s",
			shorten(digest))
	case !status.Rollback.HasDigest(digest):
		return report.Fail(report.Refused, statusRemedy, "the host can be rolled back to %s, but must be rolled back to %s",
			status.Rollback.Describe(status.Booted), shorten(digest))
	case status.RollbackQueued:
		return nil
	}
	if err := h.DropStaged(ctx, staged); err != nil {
		return err
	}
	if err := h.run(ctx, nil, h.backend.rollback...); err != nil {
		return fmt.Errorf("rolling back to %s: %w", status.Rollback, err)
	}
	return nil
}
