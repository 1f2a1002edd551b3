package config

import "regexp"

// isRelease tells an OpenShift release, 4.18 or 4.18.9, from other texts.
func isRelease(text string) bool {
	return regexp.MustCompile(`^\d+\.\d+(\.\d+)?$`).MatchString(text)
}
