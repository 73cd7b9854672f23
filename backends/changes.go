package backends

import (
	"fmt"
	"maps"
	"slices"
)

// ChangesFrom is how a model differs from what was said of it before. The name on the
// server may change as long as the weights do not, and so may an Ollama manifest's
// digest. What an older version of ours did not ask for is not compared.
func (is Identity) ChangesFrom(was Identity) []string {
	pair := map[string][2]string{
		"server":         {was.Server, is.Server},
		"server version": {was.Version, is.Version},
		"file":           {was.Path, is.Path},
		"parameters":     {was.Parameters, is.Parameters},
		"context":        {number(was.Context), number(is.Context)},
		"quantisation":   {was.Quantisation, is.Quantisation},
		"synthetic":      {fmt.Sprint(was.Synthetic), fmt.Sprint(is.Synthetic)},
	}
	switch {
	case was.Weights != "" && is.Weights != "":
		pair["weights"] = [2]string{was.Weights, is.Weights}
	case was.Digest != "" || is.Digest != "":
		pair["weights digest"] = [2]string{was.Digest, is.Digest}
	default:
		pair["model"] = [2]string{was.Model, is.Model}
	}
	if was.Template != "" && is.Template != "" {
		pair["chat template"] = [2]string{was.Template, is.Template}
	}
	if was.Bytes != nil && is.Bytes != nil {
		pair["bytes of the file"] = [2]string{number(was.Bytes), number(is.Bytes)}
	}
	var diff []string
	for _, what := range slices.Sorted(maps.Keys(pair)) {
		if p := pair[what]; p[0] != p[1] {
			diff = append(diff, fmt.Sprintf("%s was %q, is %q", what, p[0], p[1]))
		}
	}
	return diff
}

func number[T int | int64](n *T) string {
	if n == nil {
		return ""
	}
	return fmt.Sprint(*n)
}
