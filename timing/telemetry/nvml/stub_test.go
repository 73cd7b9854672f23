//go:build !(cgo && linux)

package nvml

import (
	"strings"
	"testing"
)

func TestWithoutCgoFindSaysSo(t *testing.T) {
	probes, problems := Find()
	if len(probes) != 0 || len(problems) != 1 || !strings.Contains(problems[0].String(), "CGO_ENABLED=1") {
		t.Errorf("%v %v", probes, problems)
	}
}
