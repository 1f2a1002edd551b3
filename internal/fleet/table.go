// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
)

// Row is a NodeEnrollment with its cells in the table of the API server.
type Row struct {
	*v1alpha1.NodeEnrollment
	Cells []any
}

// Table lists NodeEnrollments in the columns that oc get prints.
type Table struct {
	Columns []metav1.TableColumnDefinition
	Rows    []Row // sorted by name
}

// Selection selects NodeEnrollments. The zero value selects all.
type Selection struct {
	Names    []string
	Labels   string // label selector
	NodePool string
	Phases   []string
}

// IsAll reports whether the selection has all NodeEnrollments.
func (s Selection) IsAll() bool {
	return len(s.Names) == 0 && s.Labels == "" && s.NodePool == "" && len(s.Phases) == 0
}

// matches reports whether a NodeEnrollment with the labels of the selection is selected.
func (s Selection) matches(row Row) bool {
	return (len(s.Names) == 0 || slices.Contains(s.Names, row.Name)) &&
		(s.NodePool == "" || s.NodePool == row.Spec.NodePool) &&
		(len(s.Phases) == 0 || slices.Contains(s.Phases, string(row.Status.Phase)))
}

// List returns the table of the selected NodeEnrollments. Names that do not exist are missing.
func (c Client) List(ctx context.Context, selected Selection) (table Table, missing []string, err error) {
	rows := map[string]Row{}
	l := &lister{Client: c, selected: selected}
	if len(selected.Names) == 0 {
		if rows, _, err = l.source().ListAll(ctx); err != nil {
			return table, nil, c.explain(ctx, err, "list", nodeEnrollments())
		}
	}
	for _, name := range selected.Names {
		row, isMissing, err := l.get(ctx, name)
		switch {
		case err != nil:
			return table, nil, c.explain(ctx, err, "get", nodeEnrollments())
		case isMissing:
			missing = lists.AppendMissing(missing, name)
		case selected.matches(row):
			rows[name] = row
		}
	}
	return l.table(rows), missing, nil
}

// lister lists and watches NodeEnrollments as tables.
type lister struct {
	Client
	selected Selection
	columns  []metav1.TableColumnDefinition // of the last table that has them
}

// table returns the table of rows.
func (l *lister) table(rows map[string]Row) Table {
	table := Table{Columns: l.columns}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		table.Rows = append(table.Rows, rows[name])
	}
	return table
}

func (l *lister) source() kube.Source[Row] {
	return kube.Source[Row]{
		Activity: "watching " + nodeEnrollments().resource,
		Filter:   l.selected.matches,
		List:     l.list,
		Watch:    l.watch,
	}
}

// request returns a request for a table whose rows contain their objects.
func (l *lister) request(path ...string) *rest.Request {
	accept := "application/json;as=Table;v=" + metav1.SchemeGroupVersion.Version + ";g=" + metav1.GroupName
	return l.Conn.Client.RESTClient().Get().AbsPath(path...).SetHeader("Accept", accept).
		Param("includeObject", string(metav1.IncludeObject))
}

// requestList returns a request for the objects that options select.
func (l *lister) requestList(options metav1.ListOptions) *rest.Request {
	options.LabelSelector = l.selected.Labels
	if len(l.selected.Names) == 1 {
		options.FieldSelector = "metadata.name=" + l.selected.Names[0]
	}
	return l.request(nodeEnrollments().path...).
		SpecificallyVersionedParams(&options, metav1.ParameterCodec, schema.GroupVersion{Version: "v1"})
}

func (l *lister) list(ctx context.Context, options metav1.ListOptions) ([]Row, metav1.ListMeta, error) {
	body, err := kube.Send(ctx, l.requestList(options))
	if err != nil {
		return nil, metav1.ListMeta{}, err
	}
	return l.decode(body)
}

func (l *lister) get(ctx context.Context, name string) (row Row, isMissing bool, err error) {
	body, err := kube.Send(ctx, l.request(nodeEnrollments().objectPath(name)...))
	if kube.IsMissingObject(err) {
		return row, true, nil
	}
	if err != nil {
		return row, false, err
	}
	rows, _, err := l.decode(body)
	if err != nil || len(rows) != 1 {
		return row, true, err
	}
	return rows[0], false, nil
}

// decode returns the rows of a table.
func (l *lister) decode(body []byte) ([]Row, metav1.ListMeta, error) {
	var table metav1.Table
	if err := json.Unmarshal(body, &table); err != nil {
		return nil, table.ListMeta, fmt.Errorf("decoding the table of %s: %w", nodeEnrollments().resource, err)
	}
	if table.Kind != "Table" {
		return nil, table.ListMeta, fmt.Errorf("the response for %s is a %q, not a Table", nodeEnrollments().resource,
			table.Kind)
	}
	if len(table.ColumnDefinitions) > 0 { // only the first event of a watch has them
		l.columns = table.ColumnDefinitions
	}
	rows := make([]Row, 0, len(table.Rows))
	for _, row := range table.Rows {
		object := &v1alpha1.NodeEnrollment{}
		if err := json.Unmarshal(row.Object.Raw, object); err != nil {
			return nil, table.ListMeta, fmt.Errorf("decoding a NodeEnrollment: it is of another version: %w", err)
		}
		rows = append(rows, Row{NodeEnrollment: object, Cells: row.Cells})
	}
	return rows, table.ListMeta, nil
}
