// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

type object = map[string]any

// Console returns the dashboard in the schema that OpenShift's console reads: that of former versions of Grafana.
func Console() ([]byte, error) {
	var all []object
	id := 0
	for _, r := range rows {
		var panels []object
		for _, p := range r.panels {
			id++
			panels = append(panels, p.console(id))
		}
		all = append(all, object{
			"title": r.title, "showTitle": true, "collapse": false, "height": fmt.Sprintf("%dpx", r.height*30), "panels": panels,
		})
	}
	return encode(object{
		"title": title, "uid": uid, "tags": []string{"hcp-node-agent"}, "schemaVersion": 14, "version": 1, "editable": true,
		"timezone": "browser", "refresh": "1m", "time": object{"from": "now-6h", "to": "now"},
		"templating": object{"list": []object{{
			"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus", "hide": 0, "refresh": 1,
			"options": []any{},
		}}},
		"annotations": object{"list": []any{}},
		"rows":        all,
	})
}

func (p panel) console(id int) object {
	var targets []object
	for i, q := range p.queries {
		target := object{"refId": refID(i), "expr": q.expr, "format": "time_series", "instant": true}
		switch p.kind {
		case table:
			target["format"] = "table"
		case graph:
			delete(target, "instant")
			target["legendFormat"], target["intervalFactor"] = "{{"+p.labels[0].label+"}}", 2
		}
		targets = append(targets, target)
	}
	common := object{"id": id, "title": p.title, "span": p.width, "datasource": "$datasource", "targets": targets}
	maps.Copy(common, p.consoleOptions())
	return common
}

// consoleOptions returns the fields of a panel that its type determines.
func (p panel) consoleOptions() object {
	switch p.kind {
	case stat:
		options := object{
			"type": "singlestat", "format": "none", "decimals": 0, "valueName": "current",
			"nullText": cmp.Or(p.noValue, "-"), "gauge": object{"show": false}, "sparkline": object{"show": false},
		}
		if p.texts != nil {
			texts := []object{{"op": "=", "value": "null", "text": p.noValue}}
			for _, value := range slices.Sorted(maps.Keys(p.texts)) {
				texts = append(texts, object{"op": "=", "value": value, "text": p.texts[value]})
			}
			options["mappingType"], options["valueMaps"] = 1, texts
		}
		return options
	case table:
		styles := []object{{"pattern": "Time", "type": "hidden"}}
		for _, c := range p.labels {
			styles = append(styles, object{"alias": c.title, "pattern": c.label, "type": "string"})
		}
		for i, q := range p.queries {
			styles = append(styles, object{
				"alias": q.title, "pattern": "Value #" + refID(i), "type": "number", "decimals": q.decimals, "unit": "short",
			})
		}
		return object{"type": "table", "transform": "table", "styles": styles}
	default:
		fill := 0
		if p.isArea {
			fill = 10
		}
		return object{
			"type": "graph", "lines": true, "linewidth": 1, "fill": fill, "stack": p.isArea, "nullPointMode": "null",
			"aliasColors": object{}, "seriesOverrides": []any{}, "legend": object{"show": true, "values": false},
			"tooltip": object{"shared": true, "sort": 2, "value_type": "individual"},
			"xaxis":   object{"mode": "time", "show": true},
			"yaxes":   []object{{"format": p.unit, "min": 0, "show": true}, {"format": "short", "show": false}},
		}
	}
}

// encode returns indented JSON that contains operators such as > as they are.
func encode(value any) ([]byte, error) {
	var content bytes.Buffer
	encoder := json.NewEncoder(&content)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(value)
	return content.Bytes(), err
}
