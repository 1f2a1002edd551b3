package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// DefaultFile is where the configuration is when no flag says otherwise; its
// drop-ins are in config.d beside it.
const DefaultFile = "/etc/hcp-node-agent/config.yaml"

// Source is where settings come from.
type Source struct {
	File     string // of configuration; one that is missing is no error when it is DefaultFile
	Lookup   func(string) (string, bool)
	Given    *pflag.FlagSet // parsed flags
	Required bool           // the file was named by a person, so it must exist
}

// Load puts a join's configuration together. Its errors have the exit code of
// bad input.
func Load(source Source) (Join, error) {
	join := Defaults()
	err := load(&join, source)
	if err == nil {
		err = join.Validate()
	}
	if err != nil {
		return Join{}, report.Fail(report.Usage, "see: hcp-node-agent join --help", "configuration: %w", err)
	}
	return join, nil
}

func load(join *Join, source Source) error {
	files := []string{source.File}
	dropins, err := filepath.Glob(filepath.Join(filepath.Dir(source.File), "config.d", "*.yaml"))
	if err != nil {
		return fmt.Errorf("looking for drop-ins: %w", err)
	}
	sort.Strings(dropins)
	for i, file := range append(files, dropins...) {
		content, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) && i == 0 && !source.Required {
			continue
		}
		if err != nil {
			return fmt.Errorf("reading configuration: %w", err)
		}
		if err := merge(join, content); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	if err := fromEnvironment(join, source.Lookup); err != nil {
		return err
	}
	return fromFlags(join, source.Given)
}

// merge sets what one YAML document names and leaves the rest.
func merge(join *Join, content []byte) error {
	join.APIVersion, join.Kind = "", ""
	if err := yaml.UnmarshalStrict(content, join); err != nil {
		return fmt.Errorf("reading YAML: %w", err)
	}
	if join.APIVersion != report.APIVersion || join.Kind != Kind {
		return fmt.Errorf("it begins with apiVersion %q and kind %q, this program reads %q and %q",
			join.APIVersion, join.Kind, report.APIVersion, Kind)
	}
	return nil
}
