//go:build !(cgo && linux)

package nvml

import "assay/timing/telemetry"

// Find finds nothing in this build, and says why.
func Find() ([]telemetry.Probe, []telemetry.Problem) {
	return nil, []telemetry.Problem{{
		Source: source,
		What:   "this assay was built without cgo or not for Linux, so it does not see NVIDIA GPUs",
		Do:     "on Linux, build it with CGO_ENABLED=1 and gcc",
	}}
}
