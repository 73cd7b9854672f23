package telemetry

import "slices"

// Gaps is where the device has no samples, in order.
func (l *Log) Gaps(device int) []gap {
	t := l.tracks[device]
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.gaps)
}
