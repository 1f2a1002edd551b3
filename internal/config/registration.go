// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// ParseLabel parses KEY=VALUE according to the API server's rules. VALUE can be empty. The error
// does not contain the text.
func ParseLabel(text string) (key, value string, err error) {
	key, value, found := strings.Cut(text, "=")
	if !found {
		return "", "", errors.New("must be KEY=VALUE")
	}
	if err := checkKey(key); err != nil {
		return "", "", err
	}
	return key, value, checkValue(value)
}

// ParseTaint parses KEY=VALUE:EFFECT or KEY:EFFECT according to the API server's rules. The error
// does not contain the text.
func ParseTaint(text string) (corev1.Taint, error) {
	left, effect, found := strings.Cut(text, ":")
	if !found {
		return corev1.Taint{}, errors.New("must be KEY[=VALUE]:EFFECT")
	}
	key, value, _ := strings.Cut(left, "=")
	switch effect {
	case "NoSchedule", "PreferNoSchedule", "NoExecute":
	default:
		return corev1.Taint{}, fmt.Errorf("the effect %q must be one of NoSchedule, PreferNoSchedule, NoExecute", effect)
	}
	if err := checkKey(key); err != nil {
		return corev1.Taint{}, err
	}
	return corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)}, checkValue(value)
}

func checkKey(key string) error {
	if len(validation.IsQualifiedName(key)) > 0 {
		return fmt.Errorf("invalid key %q: at most 63 letters, digits, -, _ and ., after an optional DNS name and /", key)
	}
	return nil
}

func checkValue(value string) error {
	if len(validation.IsValidLabelValue(value)) > 0 {
		return fmt.Errorf("invalid value %q: at most 63 letters, digits and the characters - _ . inside", value)
	}
	return nil
}

func checkLabel(text string) error {
	_, _, err := ParseLabel(text)
	return err
}

func checkTaint(text string) error {
	_, err := ParseTaint(text)
	return err
}
