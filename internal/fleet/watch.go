// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Watch passes the table of the selected NodeEnrollments, and after each change the changed rows, to see until ctx
// ends or see fails. Later interruptions of the API server are logged and retried.
func (c Client) Watch(ctx context.Context, log report.Log, selected Selection, see func(Table) error) error {
	l := &lister{Client: c, selected: selected}
	if _, _, err := l.list(ctx, metav1.ListOptions{Limit: 1}); err != nil {
		return c.explain(ctx, err, "list", nodeEnrollments())
	}
	seen := map[string]string{}
	return kube.Follow(ctx, c.Conn, log, l.source(), time.Hour, func(rows map[string]Row) (bool, error) {
		changed := map[string]Row{}
		for name, row := range rows {
			if seen[name] != row.ResourceVersion {
				seen[name], changed[name] = row.ResourceVersion, row
			}
		}
		if len(changed) == 0 {
			return false, nil
		}
		return false, see(l.table(changed))
	})
}

func (l *lister) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.Watch = true
	body, err := l.requestList(options).Stream(ctx)
	if err != nil {
		return nil, err
	}
	events := &eventDecoder{lister: l, body: body, json: json.NewDecoder(body)}
	return watch.NewStreamWatcher(events, apierrors.NewClientErrorReporter(http.StatusInternalServerError, "GET",
		"watch")), nil
}

// eventDecoder decodes the events of a watch.
type eventDecoder struct {
	*lister
	body io.ReadCloser
	json *json.Decoder
}

// Decode returns the next event. Its object is a Row, or the Status of an error.
func (d *eventDecoder) Decode() (watch.EventType, runtime.Object, error) {
	var event metav1.WatchEvent
	if err := d.json.Decode(&event); err != nil {
		return "", nil, err //nolint:wrapcheck // StreamWatcher compares it with io.EOF
	}
	if event.Type == string(watch.Error) {
		status := &metav1.Status{}
		return watch.Error, status, json.Unmarshal(event.Object.Raw, status)
	}
	rows, _, err := d.decode(event.Object.Raw)
	if err != nil {
		return "", nil, err
	}
	if len(rows) != 1 {
		return "", nil, fmt.Errorf("an event contains %d rows", len(rows))
	}
	return watch.EventType(event.Type), rows[0], nil
}

// Close ends the watch.
func (d *eventDecoder) Close() { d.body.Close() }
