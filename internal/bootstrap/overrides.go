package bootstrap

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// override is an Ignition config that is merged over the payload. It is as secret
// as the payload.
type override struct {
	Name   string `json:"name"` // as given on the command line
	Config []byte `json:"config"`
}

// readOverrides returns the overrides of this run, or the saved overrides of an
// earlier run if none are given. The original files may no longer exist, for
// example those of cloud-init. Each new override is checked before the host is
// changed.
func readOverrides(c config.Join, state State, dir string, resume bool, stdin io.Reader) ([]override, error) {
	if resume || (len(c.IgnitionOverrides) == 0 && !startsOver(c, state)) {
		return savedOverrides(dir)
	}
	var list []override
	for _, name := range c.IgnitionOverrides {
		content, err := readInput(name, stdin, "--ignition-override")
		if err != nil {
			return nil, err
		}
		if err := ignition.CheckOverride(describeInput(name), content); err != nil {
			return nil, err
		}
		list = append(list, override{name, content})
	}
	return list, nil
}

func savedOverrides(dir string) ([]override, error) {
	content, err := loadFile(dir, overridesFile)
	if err != nil || content == nil {
		return nil, err
	}
	var list []override
	if err := json.Unmarshal(content, &list); err != nil {
		return nil, usageError("reading the Ignition overrides of the earlier join: %w; give them again", err)
	}
	return list, nil
}

// saveOverrides saves the overrides for later runs.
func saveOverrides(dir string, list []override) error {
	if len(list) == 0 {
		return removeFiles(dir, overridesFile)
	}
	content, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("encoding Ignition overrides: %w", err)
	}
	return saveFile(dir, overridesFile, content)
}

// applyOverrides merges the overrides over a payload. It first fetches the
// resources to which the overrides refer, with the proxy and CAs of the user data,
// and embeds them.
func (j *operation) applyOverrides(ctx context.Context, p *ignition.Payload, log report.Log) (*ignition.Payload, error) {
	configs := make([][]byte, 0, len(j.inputs.overrides))
	for i, one := range j.inputs.overrides {
		whole, err := ignition.OpenOverride(ctx, describeInput(one.Name), one.Config, j.inputs.userData, log)
		if err != nil {
			return nil, err
		}
		j.inputs.overrides[i].Config = whole
		configs = append(configs, whole)
	}
	return p.Override(configs...)
}

// saveWithout saves the payload and the overrides without the file at path, so that
// later runs do not write it again.
func (j *operation) saveWithout(path string) error {
	raw, err := ignition.WithoutFile(j.payload.Raw, path)
	if err != nil {
		return err
	}
	for i, one := range j.inputs.overrides {
		if j.inputs.overrides[i].Config, err = ignition.WithoutFile(one.Config, path); err != nil {
			return err
		}
	}
	if err := saveOverrides(j.dir, j.inputs.overrides); err != nil {
		return err
	}
	return saveFile(j.dir, payloadFile, raw)
}
