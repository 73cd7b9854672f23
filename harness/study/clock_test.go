package study

import (
	"strings"
	"testing"
	"time"

	"assay/results"
)

// A sleep and a steered clock are said; an ordinary clock only beside the devices.
func TestAReportSaysWhatTheClocksDid(t *testing.T) {
	ppm := func(v float64) *float64 { return &v }
	ses := []results.Session{
		{ID: 1}, {ID: 2, Clocks: &results.Clocks{Span: time.Hour, Slew: ppm(12.3)}, Devices: []results.Watched{{Name: "GPU"}}},
		{ID: 3, Clocks: &results.Clocks{Span: time.Hour, Slept: 90 * time.Second}},
		{ID: 4, Clocks: &results.Clocks{Span: time.Hour, Slew: ppm(-501)}}, {ID: 5, Clocks: &results.Clocks{Span: time.Hour, Slew: ppm(499)}},
	}
	sec, _ := MachineSection(ses, nil, nil)
	if len(sec.Warnings) != 2 || !strings.HasPrefix(sec.Warnings[0], "Session 3: the machine slept for 1m30s") || !strings.HasPrefix(sec.Warnings[1], "Session 4: its clock was steered by -501 ppm") {
		t.Errorf("%q", sec.Warnings)
	}
	if len(sec.Tables) != 1 || len(sec.Tables[0].Notes) != 1 || !strings.Contains(sec.Tables[0].Notes[0], "Session 2: its clock ran +12.3 ppm") {
		t.Errorf("%+v", sec.Tables)
	}
}
