// Package nvml reads NVIDIA GPUs through the driver's management library. It
// needs Linux and a build with cgo; other builds have a Find that says so.
package nvml

const source = "nvml"
