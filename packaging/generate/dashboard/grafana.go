// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"cmp"
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	grafanastat "github.com/grafana/grafana-foundation-sdk/go/stat"
	grafanatable "github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// Grafana returns the dashboard in the schema of current versions of Grafana.
func Grafana() ([]byte, error) {
	//nolint:staticcheck // all versions of Grafana read this schema, which its second version does not replace yet
	builder := dashboard.NewDashboardBuilder(title).Uid(uid).Tags([]string{"hcp-node-agent"}).Version(1).Refresh("1m").
		Time("now-6h", "now").Timezone(common.TimeZoneBrowser).
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").Label("Data source").Type("prometheus"))
	id := uint32(0)
	for _, r := range rows {
		id++
		builder.WithRow(dashboard.NewRowBuilder(r.title).Id(id))
		for _, p := range r.panels {
			id++
			builder.WithPanel(p.grafana(id, r.height))
		}
	}
	board, err := builder.Build()
	if err != nil {
		return nil, fmt.Errorf("building the dashboard: %w", err)
	}
	return encode(board)
}

var dataSource = common.DataSourceRef{Type: cog.ToPtr("prometheus"), Uid: cog.ToPtr("${datasource}")}

func (p panel) grafana(id, height uint32) cog.Builder[dashboard.Panel] {
	width := p.width * 2
	targets := p.grafanaTargets()
	switch p.kind {
	case stat:
		return grafanastat.NewPanelBuilder().Id(id).Title(p.title).Span(width).Height(height).Datasource(dataSource).
			Decimals(0).NoValue(cmp.Or(p.noValue, "-")).Mappings(p.grafanaTexts()).Targets(targets).
			ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"})).
			GraphMode(common.BigValueGraphModeNone).ColorMode(common.BigValueColorModeNone)
	case table:
		return grafanatable.NewPanelBuilder().Id(id).Title(p.title).Span(width).Height(height).Datasource(dataSource).
			Targets(targets).Transformations(p.grafanaColumns()).Overrides(p.grafanaDecimals())
	default:
		builder := timeseries.NewPanelBuilder().Id(id).Title(p.title).Span(width).Height(height).Datasource(dataSource).
			Unit(p.unit).Min(0).Targets(targets)
		if p.isArea {
			builder.FillOpacity(80).
				Stacking(common.NewStackingConfigBuilder().Mode(common.StackingModeNormal).Group("A"))
		}
		return builder
	}
}

func (p panel) grafanaTargets() (targets []cog.Builder[variants.Dataquery]) {
	for i, q := range p.queries {
		builder := prometheus.NewDataqueryBuilder().RefId(refID(i)).Expr(q.expr)
		switch p.kind {
		case stat:
			builder.Instant()
		case table:
			builder.Instant().Format(prometheus.PromQueryFormatTable)
		default:
			builder.Range().LegendFormat("{{" + p.labels[0].label + "}}")
		}
		targets = append(targets, builder)
	}
	return targets
}

func (p panel) grafanaTexts() []dashboard.ValueMapping {
	values := dashboard.NewValueMap()
	for value, text := range p.texts {
		values.Options[value] = dashboard.ValueMappingResult{Text: &text}
	}
	return []dashboard.ValueMapping{{ValueMap: values}}
}

// grafanaColumns merges the tables of all queries into one, and names its columns.
func (p panel) grafanaColumns() []dashboard.DataTransformerConfig {
	order, names := map[string]int{}, map[string]string{}
	for i, c := range p.labels {
		order[c.label], names[c.label] = i, c.title
	}
	for i, q := range p.queries {
		order[p.valueField(i)], names[p.valueField(i)] = len(p.labels)+i, q.title
	}
	return []dashboard.DataTransformerConfig{
		{Id: "merge", Options: object{}},
		{Id: "organize", Options: object{
			"excludeByName": object{"Time": true}, "indexByName": order, "renameByName": names,
		}},
	}
}

// valueField returns the name that Grafana gives the value of a query, by the number of tables.
func (p panel) valueField(i int) string {
	if len(p.queries) == 1 {
		return "Value"
	}
	return "Value #" + refID(i)
}

func (p panel) grafanaDecimals() (overrides []cog.Builder[dashboard.DashboardFieldConfigSourceOverrides]) {
	for _, q := range p.queries {
		overrides = append(overrides, dashboard.NewDashboardFieldConfigSourceOverridesBuilder().
			Matcher(dashboard.MatcherConfig{Id: "byName", Options: q.title}).
			Properties([]dashboard.DynamicConfigValue{{Id: "decimals", Value: q.decimals}}))
	}
	return overrides
}
