// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Listing describes which NodeEnrollments are printed, when and how.
type Listing struct {
	Selection

	Format  string // text or wide, for people; json, yaml or name
	Watch   bool   // changes are printed, too
	Awaited string // phase that all nodes must have before; "" for none
	Timeout time.Duration
}

// Check returns a usage error for values that are not valid, or exclude each other. It replaces the names of phases by
// those of the API.
func (l *Listing) Check() error {
	var err error
	for i, phase := range l.Phases {
		if l.Phases[i], err = parsePhase("--phase", phase); err != nil {
			return err
		}
	}
	if l.Awaited != "" {
		if l.Awaited, err = parsePhase("--wait", l.Awaited); err != nil {
			return err
		}
		if l.Watch {
			return report.UsageError("--wait and --watch exclude each other")
		}
	}
	if _, err := labels.Parse(l.Labels); err != nil {
		return report.UsageError("--selector: %w", err)
	}
	if len(l.Names) > 0 && l.Labels != "" {
		return report.UsageError("NODE and --selector exclude each other")
	}
	for _, name := range l.Names {
		if err := enrollment.CheckNodeName(name); err != nil {
			return report.UsageError("%w", err)
		}
	}
	return nil
}

// parsePhase returns the phase that a flag names in upper or lower case.
func parsePhase(flag, text string) (string, error) {
	for _, phase := range Phases() {
		if strings.EqualFold(phase, text) {
			return phase, nil
		}
	}
	return "", report.UsageError("%s: %q is none of %s", flag, text, strings.Join(Phases(), ", "))
}

// IsForPrograms reports whether the format is no table.
func (l *Listing) IsForPrograms() bool { return l.Format != "text" && l.Format != "wide" }

// Nodes returns the selected nodes, when all of them have the awaited phase.
func (l *Listing) Nodes(ctx context.Context, c Client, log report.Log) (*Nodes, error) {
	if l.Awaited == "" {
		return c.ListNodes(ctx, l.Selection)
	}
	limited, cancel := context.WithTimeout(ctx, l.Timeout)
	defer cancel()
	return c.Wait(limited, log, l.Selection, PollInterval, l.Awaited)
}

// Printer returns a function that prints nodes in the format, also repeatedly.
func (l *Listing) Printer(w io.Writer) func(*Nodes) error {
	if !l.IsForPrograms() {
		table := printers.NewTablePrinter(printers.PrintOptions{Wide: l.Format == "wide"})
		aligned := printers.GetNewTabWriter(w) // it remembers the widths of the columns
		return func(nodes *Nodes) error {
			return errors.Join(table.PrintObj(nodes.Table, aligned), aligned.Flush())
		}
	}
	objects := objectPrinter(l.Format)
	// As kubectl does, one object that was requested by name is no list, and those of a watch are not either.
	isList := !l.Watch && len(l.Names) != 1 && l.Format != "name"
	return func(nodes *Nodes) error {
		list := &metav1.List{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}, Items: []runtime.RawExtension{}}
		for _, object := range nodes.Objects {
			object.ManagedFields = nil
			if !isList {
				if err := objects.PrintObj(object, w); err != nil {
					return fmt.Errorf("printing NodeEnrollment %s: %w", object.Name, err)
				}
			}
			list.Items = append(list.Items, runtime.RawExtension{Object: object})
		}
		if !isList {
			return nil
		}
		return objects.PrintObj(list, w)
	}
}

// describeLost returns a sentence about the nodes that were removed as lost.
func describeLost(names []string) string {
	if len(names) == 1 {
		return "1 node was removed as lost, and is refused: " + names[0]
	}
	return fmt.Sprintf("%d nodes were removed as lost, and are refused: %s", len(names), report.AbbreviateList(names))
}

// objectPrinter returns a printer of objects in a format of kubectl: json, yaml or name.
func objectPrinter(format string) printers.ResourcePrinter {
	return map[string]printers.ResourcePrinter{
		"json": &printers.JSONPrinter{}, "yaml": &printers.YAMLPrinter{}, "name": &printers.NamePrinter{},
	}[format]
}

// PrintNotes prints whether no controller runs, the number of nodes in each phase, and the Nodes without a
// NodeEnrollment.
func (l *Listing) PrintNotes(ctx context.Context, w *report.Page, c Client, nodes *Nodes) {
	if problem := c.ControllerProblem(ctx, time.Now()); problem != "" {
		w.Item("", problem)
	}
	if len(nodes.Objects) == 0 {
		w.Printf("no NodeEnrollment was found\n")
	} else {
		w.Printf("%s\n", nodes.count())
	}
	if !l.isAll() {
		return
	}
	if lost, err := c.LostNames(ctx); err == nil && len(lost) > 0 { // usually with the permission
		w.Item("", describeLost(lost))
	}
	others, err := c.withoutEnrollment(ctx, nodes.Objects)
	switch {
	case err != nil || len(others) == 0: // usually without the permission
	case len(others) == 1:
		w.Printf("1 Node has no NodeEnrollment: %s\n", others[0])
	default:
		w.Item("", fmt.Sprintf("%d Nodes have no NodeEnrollment: %s", len(others), report.AbbreviateList(others)))
	}
}
