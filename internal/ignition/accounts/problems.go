package accounts

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// problems collects what stands against a config, to tell all of it at once.
type problems struct {
	texts    []string
	remedies []string
	code     report.Code
}

// told is how many are told in full.
const told = 5

// config notes what is wrong in the config itself, host what the machine or
// the tree has against it.
func (p *problems) config(remedy, format string, args ...any) {
	p.add(report.Usage, remedy, format, args...)
}

func (p *problems) host(remedy, format string, args ...any) {
	p.add(report.Refused, remedy, format, args...)
}

func (p *problems) add(code report.Code, remedy, format string, args ...any) {
	if p.code == report.Done || code == report.Usage {
		p.code = code
	}
	p.texts = append(p.texts, fmt.Sprintf(format, args...))
	if !slices.Contains(p.remedies, remedy) && len(p.texts) <= told {
		p.remedies = append(p.remedies, remedy)
	}
}

// take notes a failure that was found elsewhere.
func (p *problems) take(err error) error {
	var failure *report.Failure
	if !errors.As(err, &failure) {
		return err
	}
	p.add(failure.Code, failure.Remedy, "%s", failure.Error())
	return nil
}

func (p *problems) err() error {
	if len(p.texts) == 0 {
		return nil
	}
	texts := p.texts
	if more := len(texts) - told; more > 0 {
		texts = append(slices.Clone(texts[:told]), fmt.Sprintf("and %d more", more))
	}
	return report.Fail(p.code, strings.Join(p.remedies, "\n"), "users and groups of the config: %s", strings.Join(texts, "; "))
}
