package kube

import (
	"encoding/json"
	"fmt"
)

func EncodeJSON(value any) ([]byte, error) {
	content, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encoding what the cluster gave: %w", err)
	}
	return append(content, '\n'), nil
}
