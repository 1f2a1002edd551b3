package config

import (
	"fmt"
	"regexp"
)

var release = regexp.MustCompile(`^\d+\.\d+(\.\d+)?$`)

// checkPackages tells what makes no sense of what concerns packages.
func (j Join) checkPackages() error {
	if j.OpenShiftRelease != "" && !release.MatchString(j.OpenShiftRelease) {
		return fmt.Errorf("openshiftRelease is %q; it is written as 4.18", j.OpenShiftRelease)
	}
	return nil
}
