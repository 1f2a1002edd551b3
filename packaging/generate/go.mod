module github.com/hcp-node-agent/hcp-node-agent/packaging/generate

go 1.25.14

replace github.com/hcp-node-agent/hcp-node-agent => ../..

require github.com/grafana/grafana-foundation-sdk/go v0.0.22
