// SPDX-License-Identifier: Apache-2.0

package entries

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// maxProblems is the maximum number of problems in one error.
const maxProblems = 5

// problems collects all problems, to report them in one error.
type problems struct {
	config []string // problems of the config
	tree   []string // obstacles in the tree
	link   string   // the first path below a symbolic link that is not followed
}

func (p *problems) addConfig(format string, args ...any) {
	p.config = append(p.config, fmt.Sprintf(format, args...))
}

func (p *problems) addTree(format string, args ...any) {
	p.tree = append(p.tree, fmt.Sprintf(format, args...))
}

func (p *problems) hasAny() bool { return len(p.config)+len(p.tree) > 0 }

func (p *problems) asFailure() error {
	code, remedy := report.Failed, report.Remedy(
		"# move the existing files away, or set overwrite: true for the entries in the config")
	if p.link != "" {
		remedy = report.Remedyf("namei -l %s # lists the owner of each path component; "+
			"replace the link with a directory, or change the path in the config", report.ShellWord(p.link))
	}
	if len(p.config) > 0 {
		code, remedy = report.Usage, "# correct the entries in the config"
	}
	list := slices.Concat(p.config, p.tree)
	rest := ""
	if more := len(list) - maxProblems; more > 0 {
		list, rest = list[:maxProblems], fmt.Sprintf("; and %d more", more)
	}
	return report.Fail(code, remedy, "the config cannot be applied, nothing was changed: %s%s",
		strings.Join(list, "; "), rest)
}

// obstacle is a file in the tree that prevents an entry.
type obstacle struct {
	text string
	link string // path on the running host, if a link in its parents is not followed
}

func (o *obstacle) Error() string { return o.text }

func newObstacle(format string, args ...any) error {
	return &obstacle{text: fmt.Sprintf(format, args...)}
}

// linkObstacle returns an obstacle for an error about a symbolic link above p that is not
// followed, and other errors unchanged.
func linkObstacle(p string, err error) error {
	var unsafe *hostfs.UnsafeLinkError
	if !errors.As(err, &unsafe) {
		return err
	}
	return &obstacle{text: fmt.Sprintf("%s: %v", p, err), link: unsafe.Path}
}

// collect collects an obstacle and returns nil. It returns other errors unchanged, because they end
// the decision.
func (p *problems) collect(err error) error {
	var o *obstacle
	if errors.As(err, &o) {
		p.addTree("%s", o.text)
		p.link = cmp.Or(p.link, o.link)
		return nil
	}
	return err
}
