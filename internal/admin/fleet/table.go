// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"
)

// Nodes lists NodeEnrollments in the table of the API server, which oc get prints too.
type Nodes struct {
	Table   *metav1.Table
	Objects []*v1alpha1.NodeEnrollment // of the rows of the table
}

// Selection selects NodeEnrollments. The zero value selects all.
type Selection struct {
	Names    []string
	Labels   string // label selector
	NodePool string
	Phases   []string
}

// isAll reports whether the selection has all NodeEnrollments.
func (s Selection) isAll() bool {
	return len(s.Names) == 0 && s.Labels == "" && s.NodePool == "" && len(s.Phases) == 0
}

// matches reports whether a NodeEnrollment with the name and the labels of the selection is selected.
func (s Selection) matches(object *v1alpha1.NodeEnrollment) bool {
	return (s.NodePool == "" || s.NodePool == object.Spec.NodePool) &&
		(len(s.Phases) == 0 || slices.Contains(s.Phases, string(object.Status.Phase)))
}

// ListNodes returns the selected NodeEnrollments. After an error for names that do not exist, it returns the others.
func (c Client) ListNodes(ctx context.Context, selected Selection) (*Nodes, error) {
	nodes := &Nodes{Table: &metav1.Table{}}
	missing := map[string]bool{}
	for _, name := range selected.Names {
		missing[name] = true
	}
	options := metav1.ListOptions{LabelSelector: selected.Labels, Limit: pageSize}
	for {
		page, err := c.tablePage(ctx, options)
		if err != nil {
			return nil, err
		}
		nodes.Table.ColumnDefinitions = page.ColumnDefinitions
		for _, row := range page.Rows {
			object := &v1alpha1.NodeEnrollment{}
			if err := json.Unmarshal(row.Object.Raw, object); err != nil {
				return nil, fmt.Errorf("decoding a NodeEnrollment: it is of another version: %w", err)
			}
			isNamed := len(selected.Names) == 0 || slices.Contains(selected.Names, object.Name)
			delete(missing, object.Name)
			if isNamed && selected.matches(object) {
				nodes.Table.Rows = append(nodes.Table.Rows, row)
				nodes.Objects = append(nodes.Objects, object)
			}
		}
		if options.Continue = page.Continue; options.Continue == "" {
			break
		}
	}
	if len(missing) > 0 {
		return nodes, report.Fail(report.Usage, "hcp-node-admin nodes # lists all", "no NodeEnrollment exists for %s",
			report.AbbreviateList(slices.Sorted(maps.Keys(missing))))
	}
	return nodes, nil
}

// tablePage returns a page of the table whose rows contain their objects.
func (c Client) tablePage(ctx context.Context, options metav1.ListOptions) (*metav1.Table, error) {
	const resource = "nodeenrollments"
	version := v1alpha1.GroupVersion
	accept := "application/json;as=Table;v=" + metav1.SchemeGroupVersion.Version + ";g=" + metav1.GroupName
	body, err := kube.Send(ctx, c.REST.Get().AbsPath("/apis", version.Group, version.Version, resource).
		SetHeader("Accept", accept).Param("includeObject", string(metav1.IncludeObject)).
		SpecificallyVersionedParams(&options, metav1.ParameterCodec, schema.GroupVersion{Version: "v1"}))
	if err != nil {
		kind := enrollmentKind()
		return nil, c.Explain(ctx, err, cluster.Request{Verb: "list", Group: kind.Group, Kind: kind.Kind})
	}
	table := &metav1.Table{}
	if err := json.Unmarshal(body, table); err != nil {
		return nil, fmt.Errorf("decoding the table of %s: %w", resource, err)
	}
	if table.Kind != "Table" {
		return nil, fmt.Errorf("the response for %s is a %q, not a Table", resource, table.Kind)
	}
	return table, nil
}

// count returns the number of nodes in each phase, the most frequent first, such as "47 Ready, 2 Pending".
func (n *Nodes) count() string {
	counts := map[string]int{}
	for _, object := range n.Objects {
		counts[cmp.Or(string(object.Status.Phase), "without a phase")]++
	}
	phases := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(counts[b]-counts[a], strings.Compare(a, b))
	})
	var parts []string
	for _, phase := range phases {
		parts = append(parts, fmt.Sprintf("%d %s", counts[phase], phase))
	}
	return strings.Join(parts, ", ")
}

// PollInterval is the time between two lists of Watch and Wait.
const PollInterval = 2 * time.Second

// Watch passes the selected NodeEnrollments, and then those that have changed, to print until ctx ends or print fails.
// Failures of the API server after the first list are logged and retried.
func (c Client) Watch(
	ctx context.Context, log report.Log, selected Selection, interval time.Duration, print func(*Nodes) error,
) error {
	var versions map[string]string // of the objects that were printed
	for {
		nodes, err := c.ListNodes(ctx, selected)
		switch {
		case err != nil && (versions == nil || report.CodeOf(err) != report.Failed):
			return err
		case err != nil:
			log.Wait("waiting for the API server: "+err.Error(), "")
		default:
			changed := nodes.changedSince(versions)
			versions = map[string]string{}
			for _, object := range nodes.Objects {
				versions[object.Name] = object.ResourceVersion
			}
			if len(changed.Objects) > 0 {
				if err := print(changed); err != nil {
					return err
				}
			}
		}
		if err := wait.Sleep(ctx, interval); err != nil {
			return err
		}
	}
}

// changedSince returns the nodes whose objects have other versions.
func (n *Nodes) changedSince(versions map[string]string) *Nodes {
	changed := &Nodes{Table: &metav1.Table{ColumnDefinitions: n.Table.ColumnDefinitions}}
	for i, object := range n.Objects {
		if versions[object.Name] != object.ResourceVersion {
			changed.Table.Rows = append(changed.Table.Rows, n.Table.Rows[i])
			changed.Objects = append(changed.Objects, object)
		}
	}
	return changed
}

// Wait waits until all selected nodes have a phase, and returns them. It fails if there are none, and when ctx ends.
func (c Client) Wait(
	ctx context.Context, log report.Log, selected Selection, interval time.Duration, phase string,
) (*Nodes, error) {
	var last *Nodes
	for {
		nodes, err := c.ListNodes(ctx, selected)
		switch {
		case err != nil && (last == nil || report.CodeOf(err) != report.Failed) && ctx.Err() == nil:
			return nodes, err
		case err != nil:
			log.Wait("waiting for the API server: "+err.Error(), "")
		case len(nodes.Objects) == 0:
			return nodes, report.Fail(report.Usage, "hcp-node-admin nodes # lists all", "no NodeEnrollment was found, so that "+
				"none can become %s", phase)
		default:
			last = nodes
			awaited := nodes.without(phase)
			if len(awaited) == 0 {
				return nodes, nil
			}
			log.Wait(fmt.Sprintf("waiting until %d nodes are %s: %s", len(nodes.Objects), phase, nodes.count()), "")
		}
		if err := wait.Sleep(ctx, interval); err != nil {
			return last, last.waitError(ctx, phase)
		}
	}
}

// without returns the names of the nodes that are not in a phase.
func (n *Nodes) without(phase string) []string {
	var names []string
	for _, object := range n.Objects {
		if string(object.Status.Phase) != phase {
			names = append(names, object.Name)
		}
	}
	return names
}

// waitError returns the error of a wait that ctx has ended. n is nil if nothing was listed.
func (n *Nodes) waitError(ctx context.Context, phase string) error {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return report.Fail(report.Interrupted, "", "interrupted")
	}
	if n == nil {
		return report.Fail(report.Failed, "oc get --raw /readyz # prints whether the API server is ready",
			"timed out waiting for the API server")
	}
	awaited := n.without(phase)
	return report.Fail(report.Failed, report.Remedyf("hcp-node-admin describe %s # prints what it waits for", awaited[0]),
		"timed out waiting until %d nodes are %s (%s): %s", len(n.Objects), phase, n.count(), report.AbbreviateList(awaited))
}
