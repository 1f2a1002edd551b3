// SPDX-License-Identifier: Apache-2.0

package ostree

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
)

// podmanErrorCode is the exit code of podman's own errors (podman-run(1), Exit Status).
const podmanErrorCode = 125

// RunPodman runs the stand-in for podman and returns its exit code. It has no images and no containers: it has the
// effects of the containers that the units of a payload run (openshift/machine-config-operator,
// templates/common/_base/units), and refuses all other commands.
func RunPodman(ctx context.Context, args []string) int {
	if err := runPodman(ctx, args); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		return podmanErrorCode
	}
	return 0
}

func runPodman(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errUsage
	}
	switch args[0] {
	case "pull":
		return podmanPull(args[1:])
	case "run":
		c, err := parseContainer(args[1:])
		if err != nil {
			return err
		}
		return c.run(ctx)
	}
	return fmt.Errorf("%s is not supported by this stand-in", args[0])
}

// podmanPull checks the arguments of machine-config-daemon-pull.service, and pulls nothing.
func podmanPull(args []string) error {
	flags := newFlags()
	authfile := flags.String("authfile", "", "")
	flags.String("signature-policy", "", "")
	rest, err := parse(flags, args)
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return fmt.Errorf("%w: one image is required", errUsage)
	}
	return checkAuthFile(*authfile)
}

// checkAuthFile returns the error of podman for a missing file (containers/common, pkg/auth, CheckAuthFile).
func checkAuthFile(file string) error {
	if file == "" {
		return nil
	}
	if _, err := os.Stat(file); err != nil {
		return fmt.Errorf("checking authfile: %w", err)
	}
	return nil
}

// container is a container that "podman run" starts: the image does not count.
type container struct {
	entrypoint, authfile string
	args                 []string
}

// parseContainer parses the arguments of "podman run". Options follow the image only as arguments of the container.
func parseContainer(args []string) (container, error) {
	var c container
	flags := newFlags()
	flags.StringVar(&c.entrypoint, "entrypoint", "", "")
	flags.StringVar(&c.authfile, "authfile", "", "")
	for _, name := range []string{"rm", "privileged"} {
		flags.Bool(name, false, "")
	}
	for _, name := range []string{"net", "pid"} {
		flags.String(name, "", "")
	}
	for _, name := range []string{"v", "volume", "env", "security-opt"} {
		flags.Var(new(stringList), name, "")
	}
	flags.SetOutput(io.Discard)
	if err := flags.Parse(args); err != nil {
		return c, fmt.Errorf("%w: %w", errUsage, err)
	}
	if flags.NArg() == 0 {
		return c, fmt.Errorf("%w: an image is required", errUsage)
	}
	c.args = flags.Args()[1:]
	return c, nil
}

func (c container) run(ctx context.Context) error {
	if err := requireRoot(); err != nil {
		return err
	}
	if err := checkAuthFile(c.authfile); err != nil {
		return err
	}
	switch {
	case c.entrypoint == "machine-config-daemon" && len(c.args) > 0 && c.args[0] == "firstboot-complete-machineconfig":
		return firstbootCommand(ctx, c.args[1:])
	case c.entrypoint == "" && len(c.args) > 1 && slices.Equal(c.args[:2], []string{"node-ip", "set"}):
		return nodeIPCommand(ctx, c.args[2:])
	}
	return fmt.Errorf("entrypoint %q with arguments %q is not supported by this stand-in", c.entrypoint, c.args)
}
